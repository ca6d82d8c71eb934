/** The aggregation of extension API servers, which serve versions in this server's place. */
import { messageOf } from '#apimachinery/errors/message.js';
import { Aggregation } from '#apiserver/aggregation/aggregation.js';
import type { ClientIdentity } from '#apiserver/aggregation/client-identity.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { ServiceResolver } from '#apiserver/service-routing/service-resolver.js';
import { CertificateFiles } from '#daemon/certificates/certificate-files.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import { followFiles } from '#daemon/certificates/followed-file.js';
import { OptionsError } from '#daemon/options/option.js';

/** Reads the files that the options name. Throws OptionsError. */
export async function buildAggregation(
  values: ApiServerValues,
  environment: ServerEnvironment,
  reader: ObjectReader,
): Promise<Aggregation> {
  const { random, clock, egress, log, metrics } = environment;
  const [certFile = '', keyFile = ''] = [values['proxy-client-cert-file'], values['proxy-client-key-file']];
  const files = new CertificateFiles({ files: { cert: certFile || undefined, key: keyFile || undefined } });
  const loadIdentity = async (): Promise<ClientIdentity> => {
    const { cert, key } = await files.read().catch((error: unknown) => {
      throw new OptionsError([`--proxy-client-cert-file, --proxy-client-key-file: ${messageOf(error)}`]);
    });
    return cert === undefined || key === undefined ? {} : { cert, key };
  };
  holdCertificate(metrics, 'proxy-client', () => files.last?.cert);
  return new Aggregation({
    ...environment,
    reader,
    dial: egress?.dialOf('cluster'),
    addresses: new ServiceResolver({ reader, random, toEndpoints: values['enable-aggregator-routing'] }),
    identity: await loadIdentity(),
    followIdentity: async (replace, signal) => {
      if (certFile === '') return;
      const changed = async () => replace(await loadIdentity());
      await followFiles({ files: [certFile, keyFile], clock, log, changed }, signal);
    },
    rejectRedirects: values['aggregator-reject-forwarding-redirect'],
    requestTimeoutMs: values['request-timeout'],
    userHeaders: {
      names: [...values['requestheader-username-headers'], ...values['requestheader-group-headers']].map((name) =>
        name.toLowerCase(),
      ),
      prefixes: values['requestheader-extra-headers-prefix'].map((name) => name.toLowerCase()),
    },
  });
}
