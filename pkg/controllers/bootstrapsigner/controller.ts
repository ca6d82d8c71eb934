/** Signs the public cluster-info ConfigMap with every bootstrap token that may sign. */
import {
  clusterInfoKey,
  clusterInfoName,
  clusterInfoSignature,
  clusterInfoSignaturePrefix,
} from '#api/core/v1/configmap/cluster-info.js';
import { configmaps, secrets as secretType } from '#api/core/v1/resources.gen.js';
import {
  type BootstrapToken,
  bootstrapTokenExpiryMs,
  bootstrapTokenIdOf,
  bootstrapTokenSelector,
  bootstrapTokenText,
} from '#api/core/v1/secret/bootstrap-token.js';
import type { ConfigMap, Secret } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export class BootstrapSignerController implements Controller {
  readonly name = 'bootstrapsigner';
  readonly #context: ControllerContext;
  readonly #infos: Informer<ConfigMap>;
  readonly #secrets: Informer<Secret>;
  readonly #loop: ReconcileLoop;
  readonly #key: string;

  constructor(context: ControllerContext) {
    const { dialect, informers } = context;
    const namespace = dialect.namespaces.public;
    this.#context = context;
    this.#key = keyFor(namespace, clusterInfoName);
    this.#infos = informers.informer(configmaps, { namespace, fieldSelector: `metadata.name=${clusterInfoName}` });
    this.#secrets = informers.informer(secretType, bootstrapTokenSelector(dialect));
    this.#loop = new ReconcileLoop(context, {
      name: 'bootstrap_signer_queue',
      concurrency: 1,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = () => this.#loop.queue.add(this.#key);
    await this.#loop.run(signal, [
      this.#infos.addHandler({ onAdd: add, onUpdate: add }),
      this.#secrets.addHandler({ onAdd: add, onUpdate: add, onDelete: add }),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { client, clock, dialect } = this.#context;
    const info = this.#infos.get(key);
    if (info === undefined) return done;
    const tokens = this.#secrets.list();
    const signed = signedInfo(dialect, info, tokens, clock.now());
    if (signed !== undefined) {
      try {
        this.#loop.written.wrote(key, this.#infos, await client.resource(configmaps).update(signed));
      } catch (error) {
        // A newer version of the map enqueues the key again.
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    const expiryMs = nextExpiryMs(tokens, clock.now());
    return expiryMs === undefined ? done : requeueAfter(expiryMs);
  }
}

/** The map with one signature per signing token; undefined when unchanged or without content to sign. */
export function signedInfo(
  dialect: Dialect,
  info: ConfigMap,
  tokens: readonly Secret[],
  nowMs: number,
): ConfigMap | undefined {
  const { data = {} } = info;
  const content = data[clusterInfoKey(dialect)];
  if (content === undefined) return undefined;
  const prefix = clusterInfoSignaturePrefix(dialect);
  const others = Object.entries(data).filter(([key]) => !key.startsWith(prefix));
  const signatures = tokens.flatMap((secret): [string, string][] => {
    const token = signingToken(secret, nowMs);
    return token === undefined ? [] : [[`${prefix}${token.id}`, clusterInfoSignature(content, token)]];
  });
  const desired = Object.fromEntries([...others, ...signatures]);
  const keys = Object.keys(desired);
  const same = keys.length === Object.keys(data).length && keys.every((key) => desired[key] === data[key]);
  return same ? undefined : { ...info, data: desired };
}

/** Milliseconds until the first signing token expires; undefined when none expires. */
export function nextExpiryMs(tokens: readonly Secret[], nowMs: number): number | undefined {
  const ends = tokens.filter((secret) => signingToken(secret, nowMs) !== undefined).map(bootstrapTokenExpiryMs);
  const first = Math.min(...ends);
  return Number.isFinite(first) ? first - nowMs : undefined;
}

/** Undefined when the secret is not a signing token. */
function signingToken(secret: Secret, nowMs: number): BootstrapToken | undefined {
  const text = (key: string) => bootstrapTokenText(secret, key);
  const token = { id: text('token-id'), secret: text('token-secret') };
  if (token.id === '' || bootstrapTokenIdOf(secret.metadata.name ?? '') !== token.id || token.secret === '') {
    return undefined;
  }
  if (bootstrapTokenExpiryMs(secret) <= nowMs || text('usage-bootstrap-signing') !== 'true') return undefined;
  return token;
}
