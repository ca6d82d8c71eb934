/** Floods a server until it is told to end: `PORT FLOOD CLIENTS`, where 0 clients are anonymous. Prints what it was answered. */
import { allFloods } from '#test/integration/apiserver/floods/all-floods.js';
import type { Attack } from '#test/integration/apiserver/floods/client.js';

const [port = '', name = '', clients = ''] = process.argv.slice(2);
const [size, flood] = allFloods[name] ?? [];
if (size === undefined || flood === undefined) throw new Error(`no flood ${name}`);
const users = Number(clients);
const attacks: Attack[] = [];
if (users === 0) attacks.push(flood({ port: Number(port), address: '127.0.1.1' }, size));
for (let i = 0; i < users; i++) {
  const target = { port: Number(port), token: `stranger-${i}`, address: `127.0.1.${i + 1}` };
  attacks.push(flood(target, Math.max(1, Math.round(size / users))));
}

const stay = setInterval(() => undefined, 60_000);
process.once('SIGTERM', () => {
  clearInterval(stay);
  const outcomes: Record<string, number> = {};
  for (const attack of attacks) {
    for (const [outcome, count] of attack.outcomes) outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
    attack.stop();
  }
  process.stdout.write(
    JSON.stringify({ begun: attacks.reduce((sum, attack) => sum + attack.begun(), 0), outcomes }),
    () => process.exit(0),
  );
});
