/**
 * Binds the pods of a namespace to nodes: a pod gets the node selector of its namespace, or else the cluster's default one, and
 * may only use labels of its namespace's list. The configuration is not versioned:
 *
 * ```yaml
 * podNodeSelectorPluginConfig:
 *   clusterDefaultNodeSelector: disk=ssd
 *   team-a: disk=ssd,zone=a
 * ```
 */
import type { Namespace } from '#api/core/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { quoted, shownJson } from '#apimachinery/errors/message-values.js';
import { forbidden, internalError, type StatusError, unclassified } from '#apimachinery/errors/status.js';
import { labelValueErrors, qualifiedNameErrors } from '#apimachinery/validation/names.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { configurationError, type PluginConfiguration } from '#apiserver/admission/configuration.js';
import { concerns, ReadingPlugin, type ReadingPluginOptions } from '#apiserver/admission/plugin.js';
import { draftPod, newPod, podsOnly } from '#apiserver/admission/pod-plugin.js';
import { decodeFields, isPlain, type Plain } from '#daemon/options/config-decode.js';

type Labels = ReadonlyMap<string, string>;

export interface PodNodeSelectorOptions extends ReadingPluginOptions {
  /** Selectors by namespace, and the cluster's default one. */
  readonly selectors: ReadonlyMap<string, string>;
}

const none: Labels = new Map();
const defaultKey = 'clusterDefaultNodeSelector';

export class PodNodeSelector extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'PodNodeSelector';
  readonly resources = podsOnly;
  readonly #selectors: ReadonlyMap<string, Labels>;

  constructor(options: PodNodeSelectorOptions) {
    super(options);
    this.#selectors = new Map([...options.selectors].map(([key, selector]) => [key, parseSelector(selector)]));
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'core', 'pods');
  }

  admit(attributes: MutableAttributes): MaybePromise<void> {
    return andThen(this.#ofNamespace(attributes), (selector) => {
      const { spec } = draftPod(attributes);
      requireAgreement(attributes, selector);
      if (selector.size > 0) spec.nodeSelector = { ...Object.fromEntries(selector), ...spec.nodeSelector };
      this.#check(attributes, selector);
    });
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    return andThen(this.#ofNamespace(attributes), (selector) => this.#check(attributes, selector));
  }

  #check(attributes: AdmissionAttributes, selector: Labels): void {
    requireAgreement(attributes, selector);
    const allowed = this.#selectors.get(attributes.namespace) ?? none;
    if (allowed.size === 0) return;
    const own = Object.entries(newPod(attributes).spec.nodeSelector ?? {});
    if (own.every(([key, value]) => allowed.get(key) === value)) return;
    throw podRefusal(attributes, 'pod node label selector labels conflict with its namespace whitelist');
  }

  /** The selector that the namespace gives its pods. Throws 500 for a malformed one. */
  #ofNamespace({ namespace }: AdmissionAttributes): MaybePromise<Labels> {
    return andThen(this.#namespace(namespace), ({ metadata }) => {
      const own = metadata.annotations?.[this.dialect.annotations.nodeSelector];
      return own === undefined ? (this.#selectors.get(defaultKey) ?? none) : parseSelector(own);
    });
  }

  #namespace(name: string): MaybePromise<Namespace> {
    return andThen(this.namespaceOf(name), (namespace) => required(namespace, name));
  }
}

function required(namespace: Namespace | undefined, name: string): Namespace {
  if (namespace === undefined) throw internalError(`namespace ${name} does not exist`);
  return namespace;
}

/** Throws 403 if the pod requests another value for a label of the selector. */
function requireAgreement(attributes: AdmissionAttributes, selector: Labels): void {
  const own = Object.entries(newPod(attributes).spec.nodeSelector ?? {});
  if (own.every(([key, value]) => (selector.get(key) ?? value) === value)) return;
  throw podRefusal(attributes, 'pod node label selector conflicts with its namespace node label selector');
}

function podRefusal(attributes: AdmissionAttributes, why: string): StatusError {
  return forbidden({ group: '', resource: 'pods' }, newPod(attributes).metadata.name ?? '', why);
}

/** Labels of `a=b,c=d`. Throws 500 with 1.24's message, which names no field. */
function parseSelector(text: string): Labels {
  const labels = new Map<string, string>();
  if (text === '') return labels;
  for (const label of text.split(',')) {
    const parts = label.split('=');
    const [key = '', value = ''] = parts.map((part) => part.trim());
    const wrong = parts.length === 2 ? labelFault(key, value) : `invalid selector: [${parts.join(' ')}]`;
    if (wrong !== undefined) throw unclassified(wrong);
    labels.set(key, value);
  }
  return labels;
}

function labelFault(key: string, value: string): string | undefined {
  const wrongKey = qualifiedNameErrors(key);
  if (wrongKey.length > 0) return `<nil>: Invalid value: ${quoted(key)}: ${wrongKey.join('; ')}`;
  const wrongValue = labelValueErrors(value);
  return wrongValue.length === 0 ? undefined : `[${key}]: Invalid value: ${quoted(value)}: ${wrongValue.join('; ')}`;
}

/** The member of the configuration file. 1.24 also reads a whole file with this member as this plugin's configuration. */
export const nodeSelectorMember = 'podNodeSelectorPluginConfig';

/** Selectors of the configuration; none without it. 1.24 reports malformed ones only to users. Throws OptionsError. */
export function nodeSelectors(own: PluginConfiguration | undefined): ReadonlyMap<string, string> {
  const selectors = new Map<string, string>();
  if (own === undefined) return selectors;
  if (!isPlain(own.value)) throw configurationError(own.path, ['must be an object']);
  const errors: string[] = [];
  const decoded = decodeFields({ [nodeSelectorMember]: { mapOf: 'any' } }, own.value, errors);
  for (const [key, value] of Object.entries((decoded[nodeSelectorMember] ?? {}) as Plain)) {
    // Files in the wild leave namespaces without a list empty.
    const selector = value ?? '';
    const fault =
      typeof selector === 'string' ? selectorFault(selector) : `Invalid value: ${shownJson(value)}: must be a string`;
    if (fault !== undefined) errors.push(`${nodeSelectorMember}[${key}]: ${fault}`);
    else selectors.set(key, selector as string);
  }
  if (errors.length > 0) throw configurationError(own.path, errors);
  return selectors;
}

function selectorFault(selector: string): string | undefined {
  try {
    parseSelector(selector);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
