import t from 'tap';
import { HealthChecks } from '#daemon/serving/health.js';

function checks() {
  return new HealthChecks([
    { name: 'good', check: () => Promise.resolve() },
    { name: 'bad', check: () => Promise.reject(new Error('secret reason')), endpoints: ['readyz'] },
  ]);
}

const none = new URLSearchParams();

t.test('responses have the texts of 1.24', async (t) => {
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

t.test('single checks have their own paths', async (t) => {
  const health = checks();
  t.match(await health.respond('readyz', none, 'good'), { status: 200, body: 'ok' });
  t.match(await health.respond('readyz', none, 'bad'), {
    status: 500,
    body: 'internal server error: reason withheld\n',
  });
  t.match(await health.respond('livez', none, 'bad'), { status: 404 });
  t.throws(() => health.add({ name: 'good', check: () => undefined }), RangeError);
});

t.test('checks may come and go', async (t) => {
  const present = new Map<string, () => void>();
  const checks = new HealthChecks([() => [...present].map(([name, check]) => ({ name, check }))]);
  const ask = async (name?: string) => (await checks.respond('healthz', new URLSearchParams('verbose'), name)).body;
  t.equal(await ask(), '[+]ping ok\nhealthz check passed\n');
  present.set('job', () => undefined);
  t.match(await ask(), '[+]job ok');
  t.equal(await ask('job'), 'ok');
  present.set('job', () => {
    throw new Error('broken');
  });
  t.match(await ask(), '[-]job failed: reason withheld');
  present.clear();
  t.match(await ask('job'), '404');
});
