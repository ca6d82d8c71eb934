import { X509Certificate } from 'node:crypto';
import t from 'tap';
import { certificatesigningrequests as requests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { conflict } from '#apimachinery/errors/status.js';
import { condition, signingRequest } from '#controllers/certificates/testing/requests.js';
import { CSRSigningController } from '#controllers/csrsigning/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { createAuthority } from '#pki/certificate.js';

const dayMs = 24 * 3600_000;
const approved = [condition('Approved')];

t.test('certificates are issued, rejected, or ignored', async (t) => {
  const harness = new Harness(t, [requests]);
  const { api, dialect, clock } = harness;
  let authority = await createAuthority({ commonName: 'first', now: clock.now() });
  const { apiServerClient, nodeAgentServing } = dialect.signers;
  const subject = { commonName: 'jane', organizations: ['dev'] };
  api.seed(requests, await signingRequest('good', apiServerClient, { subject, conditions: approved }));
  api.seed(requests, await signingRequest('pending', apiServerClient));
  api.seed(
    requests,
    await signingRequest('wrong', apiServerClient, { conditions: approved, spec: { usages: ['any'] } }),
  );
  api.seed(requests, await signingRequest('other', nodeAgentServing, { conditions: approved, subject, dns: ['a'] }));
  const controller = new CSRSigningController(harness.context, {
    authorities: { apiServerClient: async () => authority },
    maxDurationMs: dayMs,
  });
  const get = (name: string) => api.get<CertificateSigningRequest>(requests, name);
  const issued = (name: string) =>
    new X509Certificate(Buffer.from(get(name)?.status?.certificate ?? '', 'base64').toString());
  let refusals = 2;
  api.intercept((call) => {
    if (call.verb !== 'update' || refusals === 0) return undefined;
    refusals -= 1;
    return conflict({ group: 'certificates', resource: 'certificatesigningrequests' }, call.name ?? '', 'changed');
  });
  await harness.start(controller);
  await harness.advance(1000);
  t.equal(issued('good').subject, 'O=dev\nCN=jane');
  t.ok(issued('good').verify(new X509Certificate(authority.certificate).publicKey));
  t.equal(new Date(issued('good').validTo).getTime(), Math.floor(clock.now() / 1000) * 1000 - 1000 + dayMs - 300_000);
  t.equal(get('pending')?.status?.certificate, undefined);
  t.match(get('wrong')?.status?.conditions?.[1], {
    type: 'Failed',
    status: 'True',
    reason: 'SignerValidationFailure',
    message: 'invalid usage for client certificate: any',
    lastUpdateTime: /./,
  });
  t.match(get('other')?.status, { conditions: [{ type: 'Approved' }], certificate: undefined });

  authority = await createAuthority({ commonName: 'second', now: clock.now() });
  api.change<CertificateSigningRequest>(requests, 'pending', (request) => {
    request.status = { conditions: approved };
  });
  await harness.settled();
  t.equal(issued('pending').issuer, 'CN=second', 'with the replaced authority');
});
