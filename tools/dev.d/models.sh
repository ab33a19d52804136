# shellcheck shell=bash disable=SC2034,SC2154
# fetches real trained models, runs them, and checks values and answers
#
# usage: tools/dev models [--list] [--ways WAY,...] [NAME...]
#
# Without a name all of tools/models/catalogue.py. Each model runs on the data set's shapes and on other batch sizes and
# lengths; expected outputs are ONNX Runtime's. A model passes when every value is within its tolerance and the decoded answer
# (the text that was read, which sentences are alike ...) is the right one. Ways (default: host,artifact):
#   host        on this CPU            none        on this CPU, every primitive a kernel of its own
#   artifact    compiled to a file first; outputs must equal those of `host` bit for bit
#   simulator   as PTX on the simulator
ensure_packages
if [[ ${1:-} != --list ]]; then
  configure release
  build release lockstitch
fi
ensure_venv tools/requirements.txt
names=()
arguments=("$@")
while (($#)); do
  case $1 in
  --ways) shift ;;
  -*) ;;
  *) names+=("$1") ;;
  esac
  shift
done
if [[ ${arguments[0]:-} != --list ]]; then
  step "Fetching models and making their test cases" "$venv/bin/python" tools/models/prepare.py "${names[@]}"
fi
exec "$venv/bin/python" tools/models/check.py --lockstitch "$lockstitch" "${arguments[@]}"
