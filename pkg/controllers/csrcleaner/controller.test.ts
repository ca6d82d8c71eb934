import t from 'tap';
import { certificatesigningrequests as requests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import { condition, type SigningRequestOptions, signingRequest } from '#controllers/certificates/testing/requests.js';
import { CSRCleanerController, reasonToClean } from '#controllers/csrcleaner/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { createAuthority } from '#pki/certificate.js';

const hourMs = 3600_000;

t.test('requests become obsolete after a time, or when their certificate expires', async (t) => {
  const now = Date.parse('2022-05-03T00:00:00Z');
  const at = (agoMs: number) => formatTime(now - agoMs);
  const { certificate } = await createAuthority({ commonName: 'a', now, validityMs: hourMs });
  const { certificate: expired } = await createAuthority({
    commonName: 'a',
    now: now - 2 * hourMs,
    validityMs: hourMs,
  });
  const since = (type: string, agoMs: number) => [condition(type, { lastUpdateTime: at(agoMs) })];
  const [fresh, old] = [hourMs - 1000, hourMs + 1000];
  const rows: [name: string, options: SigningRequestOptions, createdAgoMs: number, reason: RegExp | undefined][] = [
    ['pending', {}, 23 * hourMs, undefined],
    ['pending for long', {}, 25 * hourMs, /unhandled/],
    ['approved, not issued', { conditions: since('Approved', 99 * hourMs) }, 99 * hourMs, undefined],
    ['approved at an unknown time', { conditions: [condition('Approved')], certificate }, 99 * hourMs, undefined],
    ['issued', { conditions: since('Approved', fresh), certificate }, fresh, undefined],
    ['issued long ago', { conditions: since('Approved', old), certificate }, old, /issued for more than an hour/],
    ['expired', { conditions: since('Approved', fresh), certificate: expired }, fresh, /expired/],
    ['denied', { conditions: since('Denied', fresh) }, 99 * hourMs, undefined],
    ['denied long ago', { conditions: since('Denied', old) }, old, /denied/],
    ['failed', { conditions: [...since('Approved', fresh), ...since('Failed', fresh)] }, fresh, undefined],
    ['failed long ago', { conditions: [...since('Approved', old), ...since('Failed', old)] }, old, /failed/],
  ];
  for (const [name, options, createdAgoMs, reason] of rows) {
    const request = await signingRequest('a', 's', options);
    request.metadata.creationTimestamp = at(createdAgoMs);
    const actual = reasonToClean(request, now);
    if (reason === undefined) t.equal(actual, undefined, name);
    else t.match(actual, reason, name);
  }
  const broken = await signingRequest('a', 's', { conditions: since('Approved', fresh), certificate: 'x' });
  t.throws(() => reasonToClean(broken, now), /to be PEM encoded/);
});

t.test('all requests are checked every hour', async (t) => {
  const harness = new Harness(t, [requests]);
  const { api } = harness;
  const denied = (): CertificateSigningRequest['status'] => ({
    conditions: [condition('Denied', { lastUpdateTime: formatTime(harness.clock.now()) })],
  });
  api.seed(requests, await signingRequest('stays', 's'));
  api.seed(requests, { ...(await signingRequest('goes', 's')), status: denied() ?? {} });
  await harness.start(new CSRCleanerController(harness.context));
  const names = () =>
    api
      .list<CertificateSigningRequest>(requests)
      .map(({ metadata }) => metadata.name)
      .sort();
  t.same(names(), ['goes', 'stays']);
  const heal = harness.fail(({ verb }) => verb === 'delete', unauthorized());
  await harness.advance(hourMs + 1000);
  t.same(names(), ['goes', 'stays'], 'a failure does not stop the controller');
  heal();
  await harness.advance(hourMs);
  t.same(names(), ['stays']);
});
