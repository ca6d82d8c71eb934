import t from 'tap';
import { upwardImports } from './layers.js';

const refused = (from: string, to: string): boolean => upwardImports([{ from, to }]).length === 1;

t.test('imports go down', (t) => {
  t.notOk(refused('pkg/client/a.ts', 'pkg/api/b.ts'));
  t.notOk(refused('pkg/client/a.ts', 'pkg/client/http/b.ts'));
  t.ok(refused('pkg/api/a.ts', 'pkg/client/b.ts'));
  t.ok(refused('pkg/scheduler/a.ts', 'pkg/controllers/b.ts'));
  t.ok(refused('pkg/nobody/a.ts', 'pkg/api/b.ts'), 'a room that nobody has named');
  t.ok(refused('pkg/api/a.ts', 'test/e2e/b.ts'));
  t.notOk(refused('pkg/api/a.test.ts', 'pkg/client/b.ts'));
  t.end();
});

t.test('programs stand alone', (t) => {
  t.notOk(refused('cmd/orchctl/main.ts', 'pkg/client/b.ts'));
  t.ok(refused('cmd/orchctl/main.ts', 'cmd/orch/b.ts'));
  t.notOk(refused('cmd/orch/main.ts', 'cmd/orchctl/b.ts'));
  t.ok(refused('cmd/orchctl/main.ts', 'hack/b.ts'));
  t.end();
});
