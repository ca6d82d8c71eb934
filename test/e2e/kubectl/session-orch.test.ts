import t from 'tap';
import { sessions } from '#test/e2e/kubectl/session.js';

t.setTimeout(900_000);
t.test('orch dialect', { timeout: 900_000 }, (t) => sessions(t, 'orch'));
