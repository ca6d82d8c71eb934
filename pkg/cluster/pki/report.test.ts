import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { reportFiles } from '#cluster/pki/report.js';

const dayMs = 24 * 3600_000;

t.test('the report says how long certificates last', async (t) => {
  const folder = t.testdir();
  const now = Date.parse('2030-01-01T00:00:00Z');
  await ensureClusterPki(folder, { dialect: orchDialect, names: ['api.example.com'], ips: ['192.0.2.1'], now });
  await writeFile(join(folder, 'broken.crt'), 'none');
  const files = ['ca.crt', 'apiserver.crt', 'broken.crt', 'gone.crt'];
  const [first, second, server, authority] = reportFiles(folder, files, now + 10 * dayMs);
  t.match([first, second], [{ problem: String }, { problem: String }], 'unreadable files come first');
  t.match(server, { file: 'apiserver.crt', daysLeft: Number, notAfter: /^20/, issuer: /CN=/ });
  t.ok(server?.names.includes('DNS:api.example.com'));
  t.ok((authority?.daysLeft ?? 0) > (server?.daysLeft ?? 0), 'an authority outlives the certificates that it signs');
  const afterEnd = now + ((server?.daysLeft ?? 0) + 20) * dayMs;
  t.ok((reportFiles(folder, ['apiserver.crt'], afterEnd)[0]?.daysLeft ?? 0) < 0, 'it has ended');
});
