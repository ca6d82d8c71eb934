"""exec, attach, port-forward and logs by Python's own client, whose streams are WebSockets of version 4."""
import hashlib
import http.client
import sys
import time

from kubernetes import client, config, stream

pod, reader, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
config.load_kube_config()
api = client.CoreV1Api()


def check(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got!r} instead of {wanted!r}")
    print("ok", what)


run = lambda *command, **more: stream.stream(
    api.connect_get_namespaced_pod_exec, pod, "default", command=list(command),
    stderr=True, stdin=False, stdout=True, tty=False, **more)

check("exec", sorted(run("sh", "-c", "echo out; echo err >&2").split()), ["err", "out"])
failed = run("sh", "-c", "exit 7", _preload_content=False)
failed.run_forever(timeout=30)
check("exit code", failed.returncode, 7)

both = stream.stream(
    api.connect_get_namespaced_pod_exec, pod, "default", command=["head", "-c", str(size)],
    stderr=True, stdin=True, stdout=True, tty=False, _preload_content=False, binary=True)
sent = bytes(range(256)) * (size // 256)
got = b""
for at in range(0, size, 1 << 16):
    both.write_stdin(sent[at:at + (1 << 16)])
    both.update(timeout=0)
    if both.peek_stdout():
        got += both.read_stdout()
while both.is_open() and len(got) < size:
    both.update(timeout=30)
    if both.peek_stdout():
        got += both.read_stdout()
check("both ways", hashlib.sha256(got).hexdigest(), hashlib.sha256(sent).hexdigest())
both.close()

attached = stream.stream(
    api.connect_get_namespaced_pod_attach, reader, "default",
    stderr=True, stdin=True, stdout=True, tty=False, _preload_content=False)
attached.write_stdin("from python\n")
deadline = time.monotonic() + 30
text = ""
while "from python\n" not in text and time.monotonic() < deadline:
    text += attached.read_stdout(timeout=1) or ""
check("attach", text, "from python\n")
attached.close()

forward = stream.portforward(api.connect_get_namespaced_pod_portforward, pod, "default", ports="8080")
connection = http.client.HTTPConnection("ignored", 8080)
connection.sock = forward.socket(8080)
connection.request("GET", "/big", headers={"Connection": "close"})
answer = connection.getresponse()
check("port-forward", (answer.status, len(answer.read())), (200, 1 << 20))
check("no error", forward.error(8080), None)

lines = []
for line in api.read_namespaced_pod_log(pod, "default", follow=True, _preload_content=False).stream():
    lines.append(line)
    if b"ready\n" in b"".join(lines):
        break
print("ok logs")
