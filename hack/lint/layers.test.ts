import { readFileSync } from 'node:fs';
import t from 'tap';
import { untangled, upwardImports, wrongSubpaths } from './layers.js';

const refused = (from: string, to: string): boolean => upwardImports([{ from, to }]).length === 1;

t.test('imports go down', (t) => {
  t.notOk(refused('pkg/client/a.ts', 'pkg/api/b.ts'));
  t.notOk(refused('pkg/client/a.ts', 'pkg/client/rest/b.ts'));
  t.ok(refused('pkg/api/a.ts', 'pkg/client/b.ts'));
  t.ok(refused('pkg/scheduler/a.ts', 'pkg/controllers/b.ts'));
  t.ok(refused('pkg/unnamed/a.ts', 'pkg/api/b.ts'), 'a room that is not in the table');
  t.ok(refused('pkg/api/a.ts', 'test/e2e/b.ts'));
  t.notOk(refused('pkg/api/a.test.ts', 'pkg/client/b.ts'));
  t.end();
});

t.test('how entries are packed is known in the room of storage only', (t) => {
  for (const file of ['packed-bytes.ts', 'template.ts']) {
    t.notOk(refused('pkg/storage/cache/a.ts', `pkg/storage/packing/${file}`));
    t.ok(refused('pkg/apiserver/a.ts', `pkg/storage/packing/${file}`));
    t.ok(refused('cmd/orch/a.ts', `pkg/storage/packing/${file}`));
  }
  t.notOk(refused('pkg/apiserver/a.ts', 'pkg/storage/packing/packing.ts'), 'what packs, for all caches of a server');
  t.end();
});

t.test('programs stand alone', (t) => {
  t.notOk(refused('cmd/orchctl/main.ts', 'pkg/client/b.ts'));
  t.ok(refused('cmd/orchctl/main.ts', 'cmd/orch/b.ts'));
  t.notOk(refused('cmd/orch/main.ts', 'cmd/orchctl/b.ts'));
  t.ok(refused('cmd/orchctl/main.ts', 'hack/b.ts'));
  t.end();
});

t.test('the rooms are those of package.json', (t) => {
  const { imports } = JSON.parse(readFileSync('package.json', 'utf8'));
  t.same(wrongSubpaths(imports), []);
  const { '#client/*.js': client, ...others } = imports;
  t.same(wrongSubpaths({ ...others, '#attic/*.js': client }), ['#client/*.js', '#attic/*.js']);
  t.same(untangled(['orch']).slice(-1), ['cmd/orch']);
  t.ok(untangled([]).includes('pkg/client'));
  t.end();
});
