"""A cluster for tests: API server, controllers and simulated nodes in one process."""

import json
import os
import subprocess
import tempfile
from typing import Any, Dict, Mapping, Optional, Sequence

__all__ = ["TestCluster", "start_cluster"]


class TestCluster:
    """A running cluster; a context manager that stops it."""

    __test__ = False  # No class of tests, whatever its name says.

    def __init__(self, process: "subprocess.Popen[bytes]", facts: Mapping[str, Any]) -> None:
        self._process = process
        self.name: str = facts["name"]
        self.pid: int = facts["pid"]
        #: URL of the API server.
        self.url: str = facts["url"]
        #: Path of a client configuration with all rights.
        self.kubeconfig: str = facts["kubeconfig"]
        #: PEM.
        self.ca: str = facts["ca"]
        self.client_certificate: str = facts["clientCertificate"]
        self.client_key: str = facts["clientKey"]
        self.dialect: str = facts["dialect"]
        self.nodes: Sequence[str] = facts["nodes"]
        #: Variables for programs that use the cluster: KUBECONFIG and others.
        self.env: Dict[str, str] = dict(facts["env"])

    def stop(self) -> None:
        """Returns when it has ended and its files are removed. Idempotent."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> "TestCluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_cluster(
    *,
    controllers: Optional[str] = None,
    nodes: Optional[int] = None,
    dialect: Optional[str] = None,
    clock: Optional[str] = None,
    time: Optional[str] = None,
    pod_rules: Optional[str] = None,
    feature_gates: Optional[Mapping[str, bool]] = None,
    flags: Sequence[str] = (),
    program: Optional[str] = None,
) -> TestCluster:
    """Starts a cluster, which ends with ``stop``, or with this process.

    ``controllers`` is ``all``, ``none`` or a list such as ``garbagecollector,namespace``; ``clock`` is ``real`` or ``manual``;
    ``program`` is the path of orch, else the variable ORCH, else ``orch`` of the PATH. Raises RuntimeError with the words of the
    program if it cannot start.
    """
    named = {
        "controllers": controllers,
        "nodes": nodes,
        "dialect": dialect,
        "clock": clock,
        "time": time,
        "pod-rules": pod_rules,
    }
    arguments = [f"--{name}={value}" for name, value in named.items() if value is not None]
    if feature_gates:
        gates = ",".join(f"{name}={str(on).lower()}" for name, on in feature_gates.items())
        arguments.append(f"--feature-gates={gates}")
    command = [program or os.environ.get("ORCH", "orch"), "test", "serve", "--json", *arguments, *flags]
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words)
        assert process.stdout is not None and process.stdin is not None
        line = process.stdout.readline()
        if line.endswith(b"\n"):
            return TestCluster(process, json.loads(line))
        process.stdin.close()
        process.stdout.close()
        code = process.wait()
        words.seek(0)
        text = words.read().decode(errors="replace").strip()
    raise RuntimeError(f"{command[0]} ended with code {code}: {text}")
