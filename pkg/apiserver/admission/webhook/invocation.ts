/** Whether a webhook is asked about a request, and in which version of its resource (1.24: `generic/webhook.go`). */
import { namespaces } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { internalError, notFound } from '#apimachinery/errors/status.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import type { AdmissionAttributes, AdmissionScope } from '#apiserver/admission/admission.js';
import { type AskedAbout, matchesRule } from '#apiserver/admission/webhook/rules.js';
import type { Views } from '#apiserver/admission/webhook/views.js';
import type { WebhookStep } from '#apiserver/admission/webhook/webhook-metrics.js';
import { type Concerned, nameOf, type OrderedWebhook } from '#apiserver/admission/webhook/webhook-source.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** What a webhook is asked about. */
export interface Subject {
  readonly attributes: AdmissionAttributes;
  readonly scope: AdmissionScope;
  readonly views: Views;
  readonly type: WebhookStep;
}

/** A webhook that is to be asked. */
export interface Invocation {
  readonly webhook: OrderedWebhook;
  /** Its number in what is recorded of it. */
  readonly place: number;
  /** As the webhook wants to see it. */
  readonly resource: ServedResource;
}

/** Undefined: it is not asked. Throws 404 for an object in no namespace, and 500 for a selector that makes no sense. */
export async function invocationOf(
  webhook: OrderedWebhook,
  attributes: AdmissionAttributes,
  {
    equivalents,
    resource,
    reader,
  }: Pick<Concerned, 'equivalents'> & { resource: ServedResource; reader: ObjectReader },
): Promise<Invocation | undefined> {
  const asked: AskedAbout = {
    operation: attributes.operation,
    subresource: attributes.subresource,
    namespaced: attributes.namespace !== '' && !isNamespace(attributes),
  };
  const matches = (of: ServedResource) => webhook.rules.some((rule) => matchesRule(rule, nameOf(of), asked));
  let found = matches(resource) ? resource : undefined;
  if (found === undefined && webhook.matchesEquivalent) {
    // The rule that comes first says which version it is.
    for (const rule of webhook.rules) {
      found = equivalents.find((of) => has(of, attributes.subresource) && matchesRule(rule, nameOf(of), asked));
      if (found !== undefined) break;
    }
  }
  if (found === undefined || !selectsObject(webhook, attributes)) return undefined;
  if (!(await selectsNamespace(webhook, attributes, reader))) return undefined;
  return { webhook, place: webhook.index, resource: found };
}

function has({ declaration }: ServedResource, subresource: string): boolean {
  return subresource === '' || (declaration.subresources ?? []).some(({ name }) => name === subresource);
}

/** True for namespaces and what is below them. */
export function isNamespace({ resource }: AdmissionAttributes): boolean {
  return resource.group === 'core' && resource.resource === 'namespaces';
}

function usable(selector: LabelSelector | undefined, { name }: OrderedWebhook): LabelSelector {
  if (selector !== undefined) return selector;
  throw internalError(new Error(`a selector of the webhook ${JSON.stringify(name)} is not valid`));
}

/** By the labels that the object has, or had. */
function selectsObject(webhook: OrderedWebhook, { object, oldObject }: AdmissionAttributes): boolean {
  const selector = usable(webhook.objectSelector, webhook);
  if (selector.isEverything) return true;
  return [object, oldObject].some((one) => one !== undefined && selector.matches(labelsOf(one)));
}

/** Options of connections have no metadata. */
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
  const selector = usable(webhook.namespaceSelector, webhook);
  if (selector.isEverything) return true;
  // A namespace that is being written says itself which labels it has.
  const isWritten = operation === 'CREATE' || operation === 'UPDATE';
  if (isNamespace(attributes) && subresource === '' && isWritten) return selector.matches(object?.metadata.labels);
  const name = isNamespace(attributes) ? attributes.name : attributes.namespace;
  const namespace = (await reader.get(namespaces, '', name)) ?? (await reader.get(namespaces, '', name, 'latest'));
  if (namespace === undefined) throw notFound({ group: '', resource: 'namespaces' }, name);
  return selector.matches(namespace.metadata.labels);
}
