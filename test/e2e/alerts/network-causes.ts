/** Faults of names, service addresses and ingresses. */
import { Resolver } from 'node:dns/promises';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { delimiter, join } from 'node:path';
import { env } from 'node:process';
import { services } from '#api/core/v1/resources.gen.js';
import { ingresses } from '#api/networking/v1/resources.gen.js';
import { layoutOf } from '#cluster/config/layout.js';
import { findProgram } from '#cluster/machine/preflight.js';
import { again, type Cause, type Observed } from '#test/e2e/alerts/cause.js';
import { namespace } from '#test/e2e/pods.js';

/** A program nft that fails while a file exists, like a kernel that refuses. */
export class FailingNft {
  /** PATH for daemons that must use it. */
  readonly path: string;
  readonly #flag: string;

  /** @param folder Of its own. */
  constructor(folder: string) {
    const path = env['PATH'] ?? '';
    this.#flag = join(folder, 'fails');
    const program = join(folder, 'nft');
    const real = findProgram('nft', path) ?? 'nft';
    writeFileSync(program, `#!/bin/sh\n[ ! -e ${this.#flag} ] || { echo refused >&2; exit 1; }\nexec ${real} "$@"\n`);
    chmodSync(program, 0o755);
    this.path = `${folder}${delimiter}${path}`;
  }

  fail(): void {
    writeFileSync(this.#flag, '');
  }

  mend(): void {
    rmSync(this.#flag);
  }
}

export function rulesAreRefused({ client }: Observed, nft: FailingNft): Cause {
  return {
    alerts: ['OrchProxySyncFailing'],
    async begin() {
      nft.fail();
      let count = 0;
      const stop = again(1000, () =>
        client.resource(services).create({
          metadata: { name: `changing-${count++}`, namespace },
          spec: { ports: [{ port: 80 }], selector: { app: 'none' } },
        }),
      );
      return async () => {
        await stop();
        nft.mend();
      };
    },
  };
}

/** The resolvers for names outside of the cluster do not answer. */
export function resolversAreAway({ cluster }: Observed): Cause {
  return {
    alerts: ['OrchDNSErrorsHigh'],
    async begin() {
      const resolver = new Resolver({ timeout: 5000, tries: 1 });
      resolver.setServers([readFileSync(layoutOf(cluster.dataDir).dnsAddress, 'utf8').trim()]);
      const ask = (name: string) => resolver.resolve4(name).catch(() => undefined);
      let count = 0;
      const stop = again(500, () =>
        Promise.race([ask(`outside-${count++}.example`), ask('api.default.svc.cluster.local')]),
      );
      return async () => {
        resolver.cancel();
        await stop();
      };
    },
  };
}

/** The service of the ingress has no endpoints. */
export function ingressLeadsNowhere({ client }: Observed, port: number): Cause {
  return {
    alerts: ['OrchIngressErrors'],
    async begin() {
      const name = 'empty';
      const metadata = { name, namespace };
      await client
        .resource(services)
        .create({ metadata, spec: { ports: [{ port: 80 }], selector: { app: 'unserved' } } });
      await client.resource(ingresses).create(ingress(name, 'empty.test'));
      const stop = again(200, () => ask(port, 'empty.test'));
      return async () => {
        await stop();
        await client.resource(ingresses).delete(name, { namespace });
      };
    },
  };
}

export function ingressNamesNobody({ client }: Observed): Cause {
  return {
    alerts: ['OrchIngressProblems'],
    async begin() {
      await client.resource(ingresses).create(ingress('missing', 'missing.test'));
      return () => client.resource(ingresses).delete('missing', { namespace });
    },
  };
}

function ingress(service: string, host: string) {
  const backend = { service: { name: service, port: { number: 80 } } };
  return {
    metadata: { name: service, namespace },
    spec: {
      ingressClassName: 'built-in',
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
    },
  };
}

function ask(port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false, headers: { host } }, (response) => {
      response.resume();
      response.once('end', resolve);
    }).once('error', reject);
  });
}
