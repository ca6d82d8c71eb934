/** From options to what versions of other servers are served with. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { Aggregation } from '#apiserver/aggregation/aggregation.js';
import type { ClientIdentity } from '#apiserver/aggregation/client-identity.js';
import { readOptionalFile } from '#apiserver/config/files.js';
import { followFiles } from '#apiserver/config/serving-files.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { ServiceResolver } from '#apiserver/service-routing/service-resolver.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

export interface AggregationDependencies {
  readonly values: ApiServerValues;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly random: () => number;
  readonly reader: ObjectReader;
  readonly tracer: Tracer | undefined;
}

/** Reads the files that the options name. Throws OptionsError. */
export async function buildAggregation(dependencies: AggregationDependencies): Promise<Aggregation> {
  const { values, reader, random, clock, log } = dependencies;
  const [certFile = '', keyFile = ''] = [values['proxy-client-cert-file'], values['proxy-client-key-file']];
  const loadIdentity = async (): Promise<ClientIdentity> => {
    const [cert, key] = await Promise.all([
      readOptionalFile('proxy-client-cert-file', certFile),
      readOptionalFile('proxy-client-key-file', keyFile),
    ]);
    return cert === undefined || key === undefined ? {} : { cert, key };
  };
  return new Aggregation({
    ...dependencies,
    addresses: new ServiceResolver({ reader, random, toEndpoints: values['enable-aggregator-routing'] }),
    identity: await loadIdentity(),
    followIdentity: async (replace, signal) => {
      if (certFile === '') return;
      const changed = async () => replace(await loadIdentity());
      await followFiles({ files: [certFile, keyFile], clock, log, changed }, signal);
    },
    rejectRedirects: values['aggregator-reject-forwarding-redirect'],
    requestTimeoutMs: values['request-timeout'],
  });
}
