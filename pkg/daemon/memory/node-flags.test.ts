import { readFileSync } from 'node:fs';
import t from 'tap';
import { daemonNodeFlags } from '#daemon/memory/node-flags.js';

t.test('the programs in bin are started with the flags of daemons', async (t) => {
  for (const name of ['orch-apiserver', 'orch-controller-manager', 'orch-scheduler']) {
    const script = readFileSync(new URL(`../../../../bin/${name}`, import.meta.url), 'utf8');
    t.match(script, `exec "$node" ${daemonNodeFlags.join(' ')} "$main" "$@"`, name);
  }
});
