/**
 * By what a cluster and a machine that would be its node know each other: a token, or a client config that somebody has put
 * on the machine. With it the node asks for a certificate of its own.
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
import { findCluster, tokenClient } from '#cmd/orch/find-cluster.js';
import { asSetupError, checkedPin, serverUrl } from '#cmd/orch/join-refusals.js';
import { readNodeSettings } from '#cmd/orch/joining/node-settings.js';
import { type ProgressSink, step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { validCertificate } from '#nodeagent/certificates/client-config.js';

export interface Introduction {
  readonly dialect: Dialect;
  /** URL of its API server. */
  readonly server: string;
  /** PEM of its authority. */
  readonly ca: string;
  /** With the rights of those who would be nodes; to be closed. */
  readonly client: RestClient;
  /**
   * For the node's agent: text of a client config with the same rights, which names a file of the cluster's authority: it may
   * get another one besides.
   */
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
 * How to get to know the cluster: may be tried again. Throws a SetupError for options that say too little or too much; what
 * it returns rejects with one that says what is in the way.
 */
export function introducer(options: IntroductionOptions, sink: ProgressSink): () => Promise<Introduction> {
  const { file, server, token: text = '', pin: givenPin } = options;
  if (file !== undefined) {
    if (server !== undefined || text !== '' || givenPin !== undefined)
      throw new SetupError('--bootstrap-kubeconfig says all that SERVER, --token and --ca-hash say: leave those out');
    return () => byConfig(file).catch(asSetupError);
  }
  if (server === undefined)
    throw new SetupError(
      'say which cluster: orch join SERVER --token TOKEN --ca-hash HASH, as printed by: orchctl token create --print-join-command',
    );
  const token = parseBootstrapToken(text);
  if (token === undefined) throw new SetupError('--token is needed: six and sixteen characters with a point between');
  const of = { server: serverUrl(server), token, pin: checkedPin(givenPin) };
  return () => byToken(of, sink);
}

async function byToken(of: Parameters<typeof findCluster>[0], sink: ProgressSink): Promise<Introduction> {
  const { token } = of;
  const cluster = await findCluster(of, sink);
  const { dialect, ca, server } = cluster;
  const config = (caFile: string) =>
    singleContext({
      ...{ server, caFile, clusterName: dialect.product, userName: 'bootstrap' },
      token: `${token.id}.${token.secret}`,
    });
  const client = tokenClient(cluster, token);
  return { dialect, ca, server, client, config: (caFile) => formatKubeconfig(config(caFile)) };
}

/** PEM of the authority that a client config trusts. Rejects with a SetupError for one that names none. */
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
      // Each dialect has them elsewhere, and nothing else says so to those who would be nodes.
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
  throw new SetupError(`${server} does not tell what a node has to know: ${[...refusals].join('; ')}`);
}

/** Asks again for a while where that was wished: a new control plane takes its time. Rejects with the last refusal. */
export function keepAsking<T>(waitMs: number, sink: ProgressSink, ask: () => Promise<T>): Promise<T> {
  if (waitMs === 0) return ask();
  const deadline = realClock.monotonic() + waitMs;
  return step(sink, 'cluster answers', async () => {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (realClock.monotonic() >= deadline) throw error;
        sink({ step: 'cluster answers', state: 'waiting', note: messageOf(error) });
      }
      await realClock.sleep(pauseMs);
    }
  });
}
