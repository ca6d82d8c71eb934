/**
 * The credentials by which a joining machine and the cluster recognize each other: a token, or a client config that an
 * operator has put on the machine. With them the node requests its own certificate.
 */
import { env } from 'node:process';
import { parseBootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import type { RestClient } from '#client/rest/rest-client.js';
import type { Layout } from '#cluster/config/layout.js';
import type { joinOptions } from '#cluster/config/options.js';
import { findCluster, tokenClient } from '#cluster/join/discover.js';
import { asSetupError, checkedPin, serverUrl } from '#cluster/join/refusals.js';
import { readNodeSettings } from '#cluster/objects/node-settings.js';
import { type ProgressSink, step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import type { OptionValues } from '#daemon/options/option.js';
import { validCertificate } from '#nodeagent/certificates/client-config.js';

export interface JoinContext {
  readonly options: OptionValues<typeof joinOptions>;
  readonly layout: Layout;
  readonly sink: ProgressSink;
}

export interface Introduction {
  readonly dialect: Dialect;
  /** URL of the API server. */
  readonly server: string;
  /** PEM of the cluster's authority. */
  readonly ca: string;
  /** A client with the rights of joining machines; the caller closes it. */
  readonly client: RestClient;
  /** Client config for the node's agent with the same rights. It names the authority's file, whose content may change. */
  readonly config: (caFile: string) => string;
}

export interface IntroductionOptions {
  /** `orch join SERVER`. */
  readonly server: string | undefined;
  readonly token: string | undefined;
  readonly pin: string | undefined;
  /** Path of the client config. */
  readonly file: string | undefined;
}

const pauseMs = 1000;

/**
 * Returns a function that contacts the cluster and may be called again after a failure; it rejects with a SetupError. Throws
 * a SetupError for missing or contradictory options.
 */
export function introducer(options: IntroductionOptions, sink: ProgressSink): () => Promise<Introduction> {
  const { file, server, token: text = '', pin } = options;
  if (file !== undefined) {
    if (server !== undefined || text !== '' || pin !== undefined)
      throw new SetupError('--bootstrap-kubeconfig replaces SERVER, --token and --ca-hash: leave those out');
    return () => byConfig(file).catch(asSetupError);
  }
  if (server === undefined)
    throw new SetupError(
      'SERVER, --token and --ca-hash are missing; print the whole command with: orchctl token create --print-join-command',
    );
  const token = parseBootstrapToken(text);
  if (token === undefined) throw new SetupError('--token must be six and sixteen characters with a dot between');
  const target = { server: serverUrl(server), token, pin: checkedPin(pin) };
  return () => byToken(target, sink);
}

async function byToken(target: Parameters<typeof findCluster>[0], sink: ProgressSink): Promise<Introduction> {
  const { token } = target;
  const cluster = await findCluster(target, sink);
  const { dialect, ca, server } = cluster;
  const config = (caFile: string) =>
    singleContext({
      ...{ server, caFile, clusterName: dialect.product, userName: 'bootstrap' },
      token: `${token.id}.${token.secret}`,
    });
  const client = tokenClient(cluster, token);
  return { dialect, ca, server, client, config: (caFile) => formatKubeconfig(config(caFile)) };
}

/** PEM of the authority in a client config. Rejects with a SetupError where there is none. */
export async function authorityIn(file: string): Promise<string> {
  const { tls } = await loadKubeconfig(file, { clock: realClock, env }).catch(asSetupError);
  const ca = (await tls?.current().catch(asSetupError))?.ca;
  if (ca === undefined) throw new SetupError(`${file} names no certificate authority`);
  return ca.toString();
}

async function byConfig(file: string): Promise<Introduction> {
  const target = await loadKubeconfig(file, { clock: realClock, env });
  const { server } = target;
  const ca = await authorityIn(file);
  const { certificate, privateKey } = await validCertificate(target, realClock);
  const refusals = new Set<string>();
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const client = connect(target, { dialect, clock: realClock });
    try {
      // The settings' namespace tells the dialect; a joining machine may read nothing else.
      await readNodeSettings(client);
      const config = (caFile: string) =>
        singleContext({
          ...{ server, caFile, clusterName: dialect.product, userName: 'bootstrap' },
          ...{ clientCertificate: certificate, clientKey: privateKey },
        });
      return { dialect, server, ca, client, config: (caFile) => formatKubeconfig(config(caFile)) };
    } catch (error) {
      await client.close();
      refusals.add(messageOf(error));
    }
  }
  throw new SetupError(`cannot read the settings for nodes from ${server}: ${[...refusals].join('; ')}`);
}

/** Retries for `waitMs`, since a new control plane needs time. Rejects with the last failure. */
export function retryFor<T>(waitMs: number, sink: ProgressSink, attempt: () => Promise<T>): Promise<T> {
  if (waitMs === 0) return attempt();
  const deadline = realClock.monotonic() + waitMs;
  return step(sink, 'cluster answers', async () => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (realClock.monotonic() >= deadline) throw error;
        sink({ step: 'cluster answers', state: 'waiting', note: messageOf(error) });
      }
      await realClock.sleep(pauseMs);
    }
  });
}
