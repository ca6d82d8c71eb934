import t from 'tap';
import { workloads } from '#test/e2e/kubectl/workloads.js';

t.setTimeout(900_000);
t.test('orch dialect', { timeout: 900_000 }, (t) => workloads(t, 'orch'));
