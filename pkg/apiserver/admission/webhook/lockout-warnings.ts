/** Warns whoever configures a webhook that could keep the cluster from mending itself. */
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import { namespaces, services } from '#api/core/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { compileConfiguration, type WebhookConfiguration } from '#apiserver/admission/webhook/compiled-webhook.js';
import { exemptResources, isExempt } from '#apiserver/admission/webhook/exempt.js';
import { lockouts } from '#apiserver/admission/webhook/lockouts.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

type Labels = Readonly<Record<string, string>>;

/** Webhooks of one configuration that are looked at: so many warnings would not fit into an answer anyway. */
const maxWebhooks = 50;

export class LockoutWarnings implements AdmissionPlugin {
  readonly name = 'WebhookLockoutWarnings';
  readonly resources = exemptResources;
  readonly #dialect: Dialect;
  readonly #reader: Pick<ObjectReader, 'get'>;

  constructor({ dialect, reader }: { readonly dialect: Dialect; readonly reader: Pick<ObjectReader, 'get'> }) {
    this.#dialect = dialect;
    this.#reader = reader;
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { operation, subresource } = attributes;
    return isExempt(attributes) && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE');
  }

  async validate({ object, warn }: AdmissionAttributes): Promise<void> {
    const dialect = this.#dialect;
    const { nodeLease, system } = dialect.namespaces;
    const webhooks = compileConfiguration(object as WebhookConfiguration).slice(0, maxWebhooks);
    const called = webhooks.flatMap(({ clientConfig: { service } }) => (service === undefined ? [] : [service]));
    const [namespacesFound, podsFound] = await Promise.all([
      gathered([system, nodeLease, ...called.map(({ namespace }) => namespace)], (name) => this.#namespaceLabels(name)),
      gathered(called.map(keyOf), (key) => this.#podLabels(key)),
    ]);
    for (const webhook of webhooks) {
      const texts = lockouts(webhook, {
        dialect,
        namespace: (name) => namespacesFound.get(name) ?? {},
        servicePods: (namespace, name) => podsFound.get(keyOf({ namespace, name })),
      });
      for (const text of texts) warn(text);
    }
  }

  async #namespaceLabels(name: string): Promise<Labels> {
    const found = await this.#reader.get(namespaces, '', name);
    // Of one that is still to be made, so much is known.
    return found?.metadata.labels ?? { [this.#dialect.labels.metadataName]: name };
  }

  async #podLabels(key: string): Promise<Labels | undefined> {
    const [namespace = '', name = ''] = key.split('/');
    return (await this.#reader.get(services, namespace, name))?.spec?.selector;
  }
}

function keyOf({ namespace, name }: Pick<NonNullable<WebhookClientConfig['service']>, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

async function gathered<T>(keys: readonly string[], look: (key: string) => Promise<T>): Promise<Map<string, T>> {
  const unique = [...new Set(keys)];
  const found = await Promise.all(unique.map(look));
  return new Map(unique.map((key, i) => [key, found[i] as T]));
}
