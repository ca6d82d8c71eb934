import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { encodeMessage } from '#apimachinery/codec/protobuf/encode.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

t.test('the data of a revision keep the bytes that 1.24 encoded', async (t) => {
  const type = schemeFor(kubernetesDialect).type('apps.v1.ControllerRevision');
  const data = { spec: { command: 'a && b' } };
  const bytes = encodeMessage(type, { metadata: {}, data, revision: 1 });
  t.ok(bytes.includes('{"spec":{"command":"a \\u0026\\u0026 b"}}'), bytes.toString('latin1'));
});
