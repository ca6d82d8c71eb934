import t from 'tap';
import type { LifecycleHandler } from '#api/core/v1/types.gen.js';
import { runHook } from '#nodeagent/pods/hooks.js';
import type { CheckResult } from '#nodeagent/probes/check-result.js';

const pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [{ name: 'main' }] } };
const target = { pod, container: { name: 'main' }, containerId: 'c', podIP: '10.0.0.1' };

t.test('hook failures and their messages', async (t) => {
  const handlers: unknown[] = [];
  const run = (hook: LifecycleHandler, result: CheckResult) =>
    runHook(
      {
        check: async (handler) => {
          handlers.push(handler);
          return result;
        },
      },
      hook,
      { target, limitMs: 1000 },
    );
  const exec = { exec: { command: ['sh', '-c', 'no'] } };
  t.equal(await run(exec, { success: true, output: '' }), undefined);
  t.equal(
    await run(exec, { success: false, output: 'x', error: "command 'sh -c no' exited with 3: " }),
    `Exec lifecycle hook ([sh -c no]) for Container "main" in Pod "p_ns(u)" failed - error: command 'sh -c no' exited with 3: , message: "x"`,
  );
  const httpGet = { path: '/h', port: 80, scheme: 'HTTPS', httpHeaders: [{ name: 'A', value: 'b' }] };
  t.equal(await run({ httpGet }, { success: false, output: '500', statusCode: 500 }), undefined, 'an answer will do');
  t.same(handlers.at(-1), { httpGet: { path: '/h', port: 80 } });
  t.equal(
    await run({ httpGet }, { success: false, output: 'connection refused' }),
    'Http lifecycle hook (/h) for Container "main" in Pod "p_ns(u)" failed - error: connection refused, message: ""',
  );
  const before = handlers.length;
  t.match(await run({ tcpSocket: { port: 1 } }, { success: true, output: '' }), /^Cannot run handler: invalid handler/);
  t.equal(handlers.length, before, 'not a hook type in 1.24');
});
