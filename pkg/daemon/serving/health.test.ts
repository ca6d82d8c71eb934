import t from 'tap';
import { HealthChecks } from '#daemon/serving/health.js';

function checks() {
  return new HealthChecks([
    { name: 'good', check: () => Promise.resolve() },
    { name: 'bad', check: () => Promise.reject(new Error('secret reason')), endpoints: ['readyz'] },
  ]);
}

const none = new URLSearchParams();

t.test('texts', async (t) => {
  const health = checks();
  t.match(await health.respond('healthz', none), { status: 200, body: 'ok', failures: [] });
  t.match(await health.respond('livez', new URLSearchParams('verbose')), {
    status: 200,
    body: '[+]ping ok\n[+]good ok\nlivez check passed\n',
  });
  t.match(await health.respond('readyz', none), {
    status: 500,
    body: '[+]ping ok\n[+]good ok\n[-]bad failed: reason withheld\nreadyz check failed\n',
    failures: [{ name: 'bad', error: { message: 'secret reason' } }],
  });
  t.match(await health.respond('readyz', new URLSearchParams('verbose&exclude=bad&exclude=what')), {
    status: 200,
    body: '[+]ping ok\n[+]good ok\n[+]bad excluded: ok\nwarn: some health checks cannot be excluded: no matches for "what"\nreadyz check passed\n',
  });
});

t.test('single checks', async (t) => {
  const health = checks();
  t.match(await health.respond('readyz', none, 'good'), { status: 200, body: 'ok' });
  t.match(await health.respond('readyz', none, 'bad'), {
    status: 500,
    body: 'internal server error: reason withheld\n',
  });
  t.match(await health.respond('livez', none, 'bad'), { status: 404 });
  t.throws(() => health.add({ name: 'good', check: () => undefined }), RangeError);
});
