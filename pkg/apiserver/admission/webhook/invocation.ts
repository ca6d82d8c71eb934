/** Decides whether a webhook is called for a request, and with which version of its resource (1.24: `generic/webhook.go`). */
import { namespaces } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { internalError, notFound } from '#apimachinery/errors/status.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import type { AdmissionAttributes, AdmissionScope } from '#apiserver/admission/admission.js';
import { matchesRule, type RequestAttributes } from '#apiserver/admission/webhook/rules.js';
import type { Views } from '#apiserver/admission/webhook/views.js';
import type { WebhookStep } from '#apiserver/admission/webhook/webhook-metrics.js';
import { type Concerned, type OrderedWebhook, resourceName } from '#apiserver/admission/webhook/webhook-source.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** The request that a webhook reviews. */
export interface Subject {
  readonly attributes: AdmissionAttributes;
  readonly scope: AdmissionScope;
  readonly views: Views;
  readonly type: WebhookStep;
}

/** A webhook to be called. */
export interface Invocation {
  readonly webhook: OrderedWebhook;
  /** Its index in audit annotations. */
  readonly place: number;
  /** The version that the webhook reviews. */
  readonly resource: ServedResource;
}

/** Undefined: the webhook is not called. Throws 404 if the namespace does not exist, and 500 for an invalid selector. */
export async function invocationOf(
  webhook: OrderedWebhook,
  attributes: AdmissionAttributes,
  {
    equivalents,
    resource,
    reader,
  }: Pick<Concerned, 'equivalents'> & { resource: ServedResource; reader: ObjectReader },
): Promise<Invocation | undefined> {
  const request: RequestAttributes = {
    operation: attributes.operation,
    subresource: attributes.subresource,
    namespaced: attributes.namespace !== '' && !isNamespace(attributes),
  };
  const matches = (of: ServedResource) => webhook.rules.some((rule) => matchesRule(rule, resourceName(of), request));
  let match = matches(resource) ? resource : undefined;
  if (match === undefined && webhook.matchesEquivalent) {
    // The first matching rule decides on the version.
    for (const rule of webhook.rules) {
      match = equivalents.find(
        (of) => hasSubresource(of, attributes.subresource) && matchesRule(rule, resourceName(of), request),
      );
      if (match !== undefined) break;
    }
  }
  if (match === undefined || !selectsObject(webhook, attributes)) return undefined;
  if (!(await selectsNamespace(webhook, attributes, reader))) return undefined;
  return { webhook, place: webhook.index, resource: match };
}

function hasSubresource({ declaration }: ServedResource, subresource: string): boolean {
  return subresource === '' || (declaration.subresources ?? []).some(({ name }) => name === subresource);
}

/** True for namespaces and their subresources. */
export function isNamespace({ resource }: AdmissionAttributes): boolean {
  return resource.group === 'core' && resource.resource === 'namespaces';
}

function requireValid(selector: LabelSelector | undefined, { name }: OrderedWebhook): LabelSelector {
  if (selector !== undefined) return selector;
  throw internalError(new Error(`a selector of the webhook ${JSON.stringify(name)} is not valid`));
}

/** True if the webhook selects the object's new or old labels. */
function selectsObject(webhook: OrderedWebhook, { object, oldObject }: AdmissionAttributes): boolean {
  const selector = requireValid(webhook.objectSelector, webhook);
  if (selector.isEverything) return true;
  return [object, oldObject].some((one) => one !== undefined && selector.matches(labelsOf(one)));
}

/** The object's labels; connection options have no metadata. */
function labelsOf({ metadata }: Partial<ApiObjectShape>): Readonly<Record<string, string>> | undefined {
  return metadata?.labels;
}

async function selectsNamespace(
  webhook: OrderedWebhook,
  attributes: AdmissionAttributes,
  reader: ObjectReader,
): Promise<boolean> {
  const { operation, subresource, object } = attributes;
  if (attributes.namespace === '' && !isNamespace(attributes)) return true;
  const selector = requireValid(webhook.namespaceSelector, webhook);
  if (selector.isEverything) return true;
  // A namespace being written is matched by its own new labels.
  const isWritten = operation === 'CREATE' || operation === 'UPDATE';
  if (isNamespace(attributes) && subresource === '' && isWritten) return selector.matches(object?.metadata.labels);
  const name = isNamespace(attributes) ? attributes.name : attributes.namespace;
  const namespace = (await reader.get(namespaces, '', name)) ?? (await reader.get(namespaces, '', name, 'latest'));
  if (namespace === undefined) throw notFound({ group: '', resource: 'namespaces' }, name);
  return selector.matches(namespace.metadata.labels);
}
