/** The files of the dashboard, as the build has made them. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { Assets } from '#dashboard/server/assets.js';

t.test('files and pages by their path', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'orch-assets-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const name of ['index.html', 'main.js', 'secret.txt']) writeFileSync(join(folder, name), name);
  const assets = new Assets(folder);
  for (const [path, text] of [
    ['/ui', 'index.html'],
    ['/ui/', 'index.html'],
    ['/ui/kinds/core/pods', 'index.html'],
    ['/ui/assets/main.js', 'main.js'],
    ['/ui/assets/secret.txt', undefined],
    ['/ui/assets/../secret.txt', undefined],
    ['/ui/assets/%2e%2e/secret.txt', undefined],
    ['/uix', undefined],
    ['/api', undefined],
  ] as const)
    t.equal(assets.find(path)?.body.toString(), text, path);
  t.match(assets.find('/ui/assets/main.js'), { type: /^text\/javascript/, etag: /^".{22}"$/ });
});

const maxBytes = 300_000;

t.test('all files together are small', async (t) => {
  const folder = join(import.meta.dirname, '../../../bundle/dashboard');
  const names = readdirSync(folder, { withFileTypes: false }) as string[];
  const assets = new Assets(folder);
  const total = names.reduce((sum, name) => sum + (assets.find(`/ui/assets/${name}`)?.compressed.length ?? 0), 0);
  t.ok(total > 10_000 && total < maxBytes, `${total} bytes of ${maxBytes}, compressed`);
});
