import { readFileSync } from 'node:fs';
import t from 'tap';
import { daemonEnvironment, daemonNodeFlags } from '#daemon/memory/node-flags.js';

t.test('the programs in bin start with the same flags', async (t) => {
  const programs = ['orch-apiserver', 'orch-controller-manager', 'orch-scheduler', 'orch-ingress', 'orch-proxy'];
  for (const name of [...programs, 'nodeagent']) {
    const environment = Object.entries(daemonEnvironment(name)).map(([variable, value]) => `${variable}=${value}`);
    const script = readFileSync(new URL(`../../../../bin/${name}`, import.meta.url), 'utf8');
    t.ok(script.includes(`\nexport ${environment.join(' ')}\n`), name);
    t.ok(script.includes(`\nexec "$node" ${daemonNodeFlags(name).join(' ')} "$main" "$@"\n`), name);
  }
});
