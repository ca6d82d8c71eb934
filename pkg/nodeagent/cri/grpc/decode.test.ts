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

t.test('a status without what everything else is built on is none', async (t) => {
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

t.test('states that nobody knows are unknown, or not ready', async (t) => {
  t.match(decodeContainerStatus(container), { state: 'CONTAINER_RUNNING', createdAt: 1 });
  t.equal(decodeContainerStatus({ ...container, state: 7 }).state, 'CONTAINER_UNKNOWN');
  t.equal(decodeSandboxStatus({ ...sandbox, state: 9 }).state, 'SANDBOX_NOTREADY');
});
