"""The command line that docker-compose.yml gives vLLM, read by vLLM."""

from __future__ import annotations

import json

from tests.deploy.test_compose import SERVICES


def test_vllm_understands_its_command_line() -> None:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    command = [option.replace("${VLLM_GPU_MEMORY:-0.85}", "0.85") for option in SERVICES["vllm"]["command"]]
    speculative = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}
    parser = make_arg_parser(FlexibleArgumentParser())
    arguments = parser.parse_args([*command, f"--speculative-config={json.dumps(speculative)}", "--enable-sleep-mode"])
    validate_parsed_serve_args(arguments)
    assert SERVICES["vllm"]["entrypoint"] == ["vllm", "serve"]
    assert (arguments.model_tag, arguments.max_model_len) == (command[0], 8192)
    assert arguments.scheduling_policy == "priority"
    assert arguments.speculative_config == speculative
