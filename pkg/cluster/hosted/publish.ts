/**
 * `orch publish`: creates in a hosted control plane the settings and rights of joining nodes, the rights of Prometheus, and
 * the objects of the chart's ingress controller. It is idempotent.
 */
import { readFile } from 'node:fs/promises';
import { stderr, stdout } from 'node:process';
import { namespaces } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import { publishOptions } from '#cluster/hosted/options.js';
import { publishClusterInfo } from '#cluster/objects/cluster-info.js';
import { removeIngressClass, setUpIngress } from '#cluster/objects/ingress.js';
import { setUpJoiningAccess } from '#cluster/objects/joining-access.js';
import { setUpMonitoringAccess } from '#cluster/objects/monitoring-access.js';
import { publishNodeSettings } from '#cluster/objects/node-settings.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import { OptionsError, type OptionValues } from '#daemon/options/option.js';

export type PublishOptions = OptionValues<typeof publishOptions>;

const pollMs = 1000;

export async function publish(argv: readonly string[]): Promise<number> {
  const program = 'orch publish';
  const description = 'Let nodes join a control plane that runs in a cluster.';
  const parsed = commandOptions(publishOptions, argv, { program, description });
  if (parsed === undefined) return 0;
  const { values } = parsed;
  const { kubeconfig, server } = values;
  if (kubeconfig === undefined) throw new OptionsError(['--kubeconfig: must be the client config of an administrator']);
  if (server === undefined || !URL.canParse(server))
    throw new OptionsError(['--server: must be the URL at which nodes reach the API server']);
  const dialect = dialectByName(values.dialect === 'kubernetes' ? 'kubernetes' : 'orch');
  const ca = authorityOf(await readFile(kubeconfig, 'utf8'), kubeconfig);
  const client = connect(await loadKubeconfig(kubeconfig, { clock: realClock }), { dialect, clock: realClock });
  try {
    await untilAnswered(client, values.wait);
    await publishAll(client, { values, server, ca });
    stdout.write(`nodes may join at ${server}\n`);
    return 0;
  } finally {
    await client.close();
  }
}

export interface PublishInput {
  readonly values: PublishOptions;
  /** URL of the API server for nodes. */
  readonly server: string;
  /** PEM. */
  readonly ca: string;
}

export async function publishAll(client: Client, { ca, server, values }: PublishInput): Promise<void> {
  await Promise.all([
    setUpJoiningAccess(client),
    setUpMonitoringAccess(client),
    publishClusterInfo(client, { server, ca }),
    publishNodeSettings(client, {
      podRange: values['pod-range'],
      serviceRange: values['service-range'],
      clusterDomain: values['cluster-domain'],
      clusterDns: values['cluster-dns'],
      serviceProxy: values['service-proxy'],
    }),
    values.ingress ? setUpIngress(client) : removeIngressClass(client),
  ]);
}

/** PEM of the authority of a client config's first cluster. */
function authorityOf(text: string, file: string): string {
  const data = parseKubeconfig(text, file).clusters[0]?.cluster['certificate-authority-data'];
  if (data === undefined) throw new Error(`${file} has no certificate-authority-data`);
  return Buffer.from(data, 'base64').toString('utf8');
}

/** Waits for a new control plane. Rejects with the last failure after `waitMs`. */
async function untilAnswered(client: Client, waitMs: number): Promise<void> {
  const deadline = realClock.monotonic() + waitMs;
  for (;;) {
    try {
      const { namespaces: names } = client.dialect;
      await Promise.all([names.system, names.public].map((name) => client.resource(namespaces).get(name)));
      return;
    } catch (error) {
      if (realClock.monotonic() >= deadline) throw error;
      stderr.write(`waiting for the API server: ${messageOf(error)}\n`);
    }
    await realClock.sleep(pollMs);
  }
}
