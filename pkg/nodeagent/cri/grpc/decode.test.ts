import t from 'tap';
import { decodeContainerStatus, decodeSandboxStatus, requiredID } from '#nodeagent/cri/grpc/decode.js';

const container = {
  id: 'c',
  metadata: { name: 'main', attempt: 1 },
  state: 'CONTAINER_RUNNING',
  createdAt: '1000000',
  image: { image: 'app:1' },
  imageRef: 'sha256:1',
};
const sandbox = { id: 's', metadata: { name: 'p', namespace: 'default', uid: 'u' }, createdAt: '1000000' };

t.test('a status without essential fields is rejected', async (t) => {
  const rows: [answer: object | null, problem: string][] = [
    [null, 'status.Id is not set'],
    [{ ...container, metadata: null }, 'status.Metadata is not set'],
    [{ ...container, metadata: { name: '' } }, 'metadata.Name is not in metadata'],
    [{ ...container, createdAt: '0' }, 'status.CreatedAt is not set'],
    [{ ...container, image: null }, 'status.Image is not set'],
    [{ ...container, imageRef: '' }, 'status.ImageRef is not set'],
  ];
  for (const [answer, message] of rows)
    t.throws(() => decodeContainerStatus(answer), { name: 'CRIError', code: 'Unknown', message });
  const unnamed = 'metadata.Name, metadata.Namespace or metadata.Uid is not in metadata';
  t.throws(() => decodeSandboxStatus({ ...sandbox, metadata: { name: 'p' } }), { message: unnamed });
  t.throws(() => requiredID('', 'PodSandboxId'), { message: 'PodSandboxId is not set' });
  t.equal(requiredID('x', 'PodSandboxId'), 'x');
});

t.test('unrecognised states count as unknown or not ready', async (t) => {
  t.match(decodeContainerStatus(container), { state: 'CONTAINER_RUNNING', createdAt: 1 });
  t.equal(decodeContainerStatus({ ...container, state: 7 }).state, 'CONTAINER_UNKNOWN');
  t.equal(decodeSandboxStatus({ ...sandbox, state: 9 }).state, 'SANDBOX_NOTREADY');
});

t.test('invalid addresses are dropped, and one per family is kept', async (t) => {
  const ips = (ip: string, ...more: string[]) =>
    decodeSandboxStatus({ ...sandbox, network: { ip, additionalIps: more.map((each) => ({ ip: each })) } }).ips;
  t.same(ips('10.1.2.3'), ['10.1.2.3']);
  t.same(ips('fd00::1', '10.1.2.3'), ['fd00::1', '10.1.2.3']);
  t.same(ips('10.1.2.3', '10.1.2.4', 'fd00::1', 'fd00::2', '10.1.2.3'), ['10.1.2.3', 'fd00::1']);
  for (const none of [[''], ['', '10.1.2.3'], ['localhost'], ['10.1.2.3', '10.1.2'], ['10.1.2.3/24'], ['10.1.2.3', '']])
    t.same(ips(...(none as [string])), [], none.join());
});

t.test('termination messages are truncated', async (t) => {
  const { reason, message } = decodeContainerStatus({
    ...container,
    reason: 'r'.repeat(1 << 20),
    message: 'm'.repeat(1 << 20),
  });
  t.same([reason.length, message.length], [1024, 65_536]);
});

t.test('timestamps of any value are decoded', async (t) => {
  for (const nanoseconds of ['9223372036854775807', '-9223372036854775808', '1']) {
    const { startedAt, finishedAt } = decodeContainerStatus({
      ...container,
      startedAt: nanoseconds,
      finishedAt: nanoseconds,
    });
    t.ok(Number.isFinite(startedAt) && new Date(finishedAt).getTime() === finishedAt, nanoseconds);
  }
});
