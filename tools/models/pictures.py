"""Pictures of text, drawn with a stroke font: the same on every machine, no font file needed."""
import numpy as np

# A stroke font on a grid 4 wide and 6 high; each pair of digits is a point (x, y), each word is one polyline.
STROKES = {
    "A": "062046 1434", "B": "0006 003041423303 334445360603", "C": "4130100105163645", "D": "00062644422000",
    "E": "40000646 0333", "F": "400006 0333", "G": "41301001051636454323", "H": "0006 4046 0343", "I": "0006",
    "J": "4045361605", "K": "0006 4004 1346", "L": "000646", "M": "0600234046", "N": "06004640",
    "O": "103041453616050110", "P": "06003041423303", "Q": "103041453616050110 2446", "R": "06003041423303 2346",
    "S": "413010010213334445361605", "T": "0040 2026", "U": "000516364540", "V": "002640", "W": "0016233640",
    "X": "0046 4006", "Y": "002340 2326", "Z": "00400646", "0": "102031352616050110", "1": "012026",
    "2": "01103041420646", "3": "01103041423313 334445361605", "4": "36300444", "5": "400003334445361605",
    "6": "413010010516364544331304", "7": "004016", "8": "103041423313020110 130405163645443313",
    "9": "051636454130100102133342",
}


def draw_text(canvas, text, x, y, height, ink):
    """Draws `text` in capitals `height` pixels high, its left top at (x, y), with soft edges; returns the end x."""
    unit, wide, radius = height / 6.0, height / 7.2, max(0.9, height / 16.0)
    yy, xx = np.mgrid[0 : canvas.shape[0], 0 : canvas.shape[1]].astype(np.float64)
    for char in text:
        if char == " ":
            x += 2.6 * wide
            continue
        lines = [[(int(w[i]), int(w[i + 1])) for i in range(0, len(w), 2)] for w in STROKES[char].split()]
        for line in lines:
            for (ax, ay), (bx, by) in zip(line, line[1:]):
                ax, ay, bx, by = x + ax * wide, y + ay * unit, x + bx * wide, y + by * unit
                x0, x1 = int(max(0, min(ax, bx) - radius - 2)), int(max(ax, bx) + radius + 3)
                y0, y1 = int(max(0, min(ay, by) - radius - 2)), int(max(ay, by) + radius + 3)
                px, py = xx[y0:y1, x0:x1] - ax, yy[y0:y1, x0:x1] - ay
                dx, dy = bx - ax, by - ay
                t = np.clip((px * dx + py * dy) / max(dx * dx + dy * dy, 1e-9), 0, 1)
                cover = np.clip(radius + 0.5 - np.hypot(px - t * dx, py - t * dy), 0, 1)
                part = canvas[y0:y1, x0:x1]
                part[...] = part * (1 - cover) + ink * cover
        x += (max(px for line in lines for px, _ in line) + 1.8) * wide
    return x


def text_line(text, width, height=48, letter=28, paper=235.0, ink=25.0):
    """A grey picture [height, width], 0 to 255, of one line of text."""
    canvas = np.full((height, width), paper)
    end = draw_text(canvas, text, letter * 0.45, (height - letter) / 2, letter, ink)
    if end >= width:
        raise ValueError(f"'{text}' needs {end:.0f} pixels, there are {width}")
    return canvas


def to_chw(gray, mean=0.5, std=0.5):
    """Grey 0..255 [h, w] -> f32 [1, 3, h, w] of three equal channels, (x/255 - mean) / std."""
    return ((np.stack([np.round(gray)] * 3) / 255 - mean) / std)[None].astype(np.float32)
