/** Webhooks that hang, lie, crash or never end affect only their own requests: time, memory and connections are bounded. */
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { startHostileCluster } from '#test/integration/apiserver/webhooks/hostile-cluster.js';
import { type HostileMode, hostileModes } from '#test/integration/apiserver/webhooks/hostile-server.js';
import { mostBufferedBytes } from '#test/socket-buffers.js';

/** Half of the limit of writing requests in flight. */
const maxCalls = 10;
const victims = 15;
/** Generous limit of a response, and of the system's buffers for its connection. */
const bytesOfCall = 10 * 1024 * 1024 + mostBufferedBytes();

const expected: Readonly<Record<Exclude<HostileMode, 'good'>, RegExp>> = {
  hanging: /context deadline exceeded$/,
  slow: /never/,
  trickling: /context deadline exceeded$/,
  lying: /expected response\.uid=/,
  crashing: /: EOF$/,
  huge: /the answer is longer than \d+ bytes$/,
  deep: /the answer cannot be read: /,
};

/** Only their timeout ends them. */
const neverEnding: readonly HostileMode[] = ['hanging', 'trickling'];

t.test('hostile webhooks', async (t) => {
  const { cluster, hostile, write, convert, serve, other } = await startHostileCluster(t, [
    `--max-mutating-requests-inflight=${2 * maxCalls}`,
  ]);
  t.match(await write('long'), { status: 201 });
  t.equal((await convert()).status, 200);
  for (const mode of hostileModes) {
    await t.test(mode, async (t) => {
      await hostile.become(mode);
      const patience = neverEnding.includes(mode) ? 'short' : 'long';
      const before = await hostile.report();
      const suffering = Promise.all(Array.from({ length: victims }, () => write(patience)));
      const served = Promise.all(Array.from({ length: victims }, () => serve()));
      // Other requests are not affected meanwhile.
      for (let i = 0; i < 20; i++) t.equal((await other()).status, 201);
      t.equal((await cluster.send('GET', '/api/v1/namespaces/default/configmaps')).status, 200);
      for (const { status, body } of await suffering) {
        if (mode === 'slow' && status === 201) continue;
        if (status === 429) t.match(body.message, /calls of the webhook .* are under way already/);
        else t.match(body, { code: 500, message: expected[mode] });
      }
      await served;
      const after = await hostile.report();
      // A stale connection may be replaced by a second one for the same call. Each request that waits for the extension server
      // has a connection, too.
      t.ok(after.mostOpen <= 2 * maxCalls + victims, `${after.mostOpen} connections`);
      const bytes = after.sentBytes - before.sentBytes;
      t.ok(bytes <= victims * bytesOfCall, `${bytes} bytes of endless answers`);
      // The limit is generous for slow machines.
      const converted = await convert(mode === 'slow' ? '' : 'timeout=1s');
      if (mode === 'slow') t.equal(converted.status, 200);
      else t.ok(converted.status >= 500, `a conversion fails: ${converted.body.message}`);
      await hostile.become('good');
      await hostile.cut();
      t.match(await write('long'), { status: 201 }, 'it is called again as soon as it works');
      t.match(await convert(), { status: 200 });
    });
  }
  await t.test('silent', async (t) => {
    const rules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }];
    await cluster.configure('Validating', 'silent', [
      {
        name: 'silent.b.test',
        clientConfig: { url: `https://127.0.0.1:${hostile.silentPort}/` },
        rules,
        objectSelector: { matchLabels: { path: 'hostile' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 1,
      },
    ]);
    // The other webhook is called, too, with a timeout for busy machines.
    const suffering = Promise.all(Array.from({ length: victims }, () => write('long')));
    for (let i = 0; i < 20; i++) t.equal((await other()).status, 201);
    for (const { status, body } of await suffering) {
      if (status !== 429) t.match(body, { code: 500, message: /silent\.b\.test.*context deadline exceeded$/ });
    }
    // Pending connections are closed.
    for (;;) {
      const { open } = await hostile.report();
      if (open <= maxCalls) break;
      await clock.sleep(5);
    }
  });
});
