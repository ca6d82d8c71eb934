import t from 'tap';
import { workloads } from '#test/e2e/kubectl/workloads.js';

t.setTimeout(600_000);
t.test('kubernetes dialect', { timeout: 600_000 }, (t) => workloads(t, 'kubernetes'));
