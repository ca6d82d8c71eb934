/**
 * Admits pods by the PodSecurityPolicies that their users or their service accounts may use. Source: 1.24,
 * plugin/pkg/admission/security/podsecuritypolicy/admission.go.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import { podsecuritypolicies } from '#api/policy/v1beta1/resources.gen.js';
import type { PodSecurityPolicy } from '#api/policy/v1beta1/types.gen.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll } from '#apimachinery/validation/failure.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { onlyForCollection } from '#apiserver/admission/only-for-collection.js';
import { refusal } from '#apiserver/admission/plugin.js';
import { draftPod, newPod, podsOnly, writesPod } from '#apiserver/admission/pod-plugin.js';
import { applyDefaults } from '#apiserver/admission/podsecuritypolicy/apply-defaults.js';
import { podFailures } from '#apiserver/admission/podsecuritypolicy/check-pod.js';
import { isGroupRule, isUserRule } from '#apiserver/admission/podsecuritypolicy/rules/identities.js';
import { auditPrefix, policyAnnotation } from '#apiserver/admission/podsecuritypolicy/rules/names.js';
import { Profiles } from '#apiserver/admission/podsecuritypolicy/rules/profiles.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import { serviceAccountUser } from '#apiserver/serviceaccount/claims.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';

export interface PodSecurityPolicyOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
  readonly gate: (name: FeatureGateName) => boolean;
  /** Pauses between policies. */
  readonly turns: Pick<TurnQueue, 'pause'>;
}

/** The pod as a policy admits it, or the failures of all policies that may be used. */
type Decision =
  | { readonly pod: Draft<Pod>; readonly policy: string }
  | { readonly pod?: never; readonly failures: readonly FieldFailure[] };

interface Question {
  readonly pod: Pod;
  readonly mutates: boolean;
  /** The policy to try first; empty for none. */
  readonly first: string;
}

/** The group that had the kind before; rights to it still count. */
const formerGroup = 'extensions';

export class PodSecurityPolicyAdmission implements AdmissionPlugin {
  readonly name = 'PodSecurityPolicy';
  readonly resources = podsOnly;
  readonly #options: PodSecurityPolicyOptions;

  constructor(options: PodSecurityPolicyOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return writesPod(attributes);
  }

  /** Updates are only validated. */
  async admit(attributes: MutableAttributes): Promise<void> {
    if (attributes.operation !== 'CREATE') return;
    const { dialect } = this.#options;
    const pod = draftPod(attributes);
    const decision = await this.#decide(attributes, { pod, mutates: true, first: '' });
    if (decision.pod === undefined) throw this.#refusal(attributes, 'admit', decision.failures);
    pod.spec = decision.pod.spec;
    pod.metadata.annotations = { ...decision.pod.metadata.annotations, [policyAnnotation(dialect)]: decision.policy };
    this.#annotate(attributes, 'admit-policy', decision.policy);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { operation, object, oldObject } = attributes;
    // Who may update and delete pods may also let them be collected.
    if (operation === 'UPDATE' && object && oldObject && onlyForCollection(object, oldObject)) return;
    const pod = newPod(attributes);
    const first = pod.metadata.annotations?.[policyAnnotation(this.#options.dialect)] ?? '';
    const decision = await this.#decide(attributes, { pod, mutates: false, first });
    if (decision.pod === undefined) throw this.#refusal(attributes, 'validate', decision.failures);
    this.#annotate(attributes, 'validate-policy', decision.policy);
  }

  /** Prefers the first policy that needs no change of the pod; then, if `mutates`, the first of all. */
  async #decide(attributes: AdmissionAttributes, { pod, mutates, first }: Question): Promise<Decision> {
    const { dialect, reader, turns } = this.#options;
    const all = await reader.list(podsecuritypolicies);
    const policies = all.filter(isUsable).sort((a, b) => compareNames(nameOf(a), nameOf(b), first));
    if (policies.length === 0)
      throw refusal(attributes, dialect, 'PodSecurityPolicy: no providers available to validate pod request');
    const failures = new Map<string, readonly FieldFailure[]>();
    let changed: Decision | undefined;
    for (const policy of policies) {
      await turns.pause();
      const name = nameOf(policy);
      const { own, refused } = this.#tried(policy, pod);
      if (refused.length > 0) failures.set(name, refused);
      else {
        const isChanged = !semanticEqual(pod, own);
        if (isChanged && (!mutates || changed !== undefined)) continue;
        if (!(await this.#mayUse(attributes, pod, name))) continue;
        if (!isChanged) return { pod: own, policy: name };
        changed = { pod: own, policy: name };
      }
    }
    if (changed !== undefined) return changed;
    const shown: FieldFailure[] = [];
    for (const [name, own] of failures) if (await this.#mayUse(attributes, pod, name)) addAll(shown, own);
    return { failures: shown };
  }

  #tried({ metadata, spec }: PodSecurityPolicy, pod: Pod) {
    const { dialect, gate } = this.#options;
    const profiles = new Profiles(metadata.annotations ?? {}, dialect);
    const own = copyJson(pod);
    applyDefaults(spec, profiles, own);
    const context = {
      dialect,
      inlineDrivers: gate('CSIInlineVolume'),
      ephemeralContainers: gate('EphemeralContainers'),
    };
    return { own, refused: podFailures(spec, profiles, own, context) };
  }

  /** The account is asked about first: mostly controllers create pods. */
  async #mayUse({ namespace, user }: AdmissionAttributes, { spec }: Pod, policy: string): Promise<boolean> {
    const { authorizer, dialect } = this.#options;
    const account = spec.serviceAccountName ?? '';
    const users = account === '' ? [user] : [accountUser(dialect, namespace, account), user];
    for (const one of users) {
      for (const group of [dialect.groupName('policy'), formerGroup]) {
        const { decision } = await authorizer.authorize({
          user: one,
          verb: 'use',
          resourceRequest: true,
          group,
          version: '*',
          resource: 'podsecuritypolicies',
          subresource: '',
          namespace,
          name: policy,
          path: '',
        });
        if (decision === 'allow') return true;
      }
    }
    return false;
  }

  #refusal(attributes: AdmissionAttributes, verb: 'admit' | 'validate', failures: readonly FieldFailure[]) {
    const texts = failures.map(({ field, message }) => `${field}: ${message}`).join(' ');
    return refusal(attributes, this.#options.dialect, `PodSecurityPolicy: unable to ${verb} pod: [${texts}]`);
  }

  #annotate({ scope }: AdmissionAttributes, key: string, policy: string): void {
    scope?.context.audit?.annotate(`${auditPrefix(this.#options.dialect)}${key}`, policy);
  }
}

/** Policies with rules that 1.24 does not know are left out. */
function isUsable({ spec }: PodSecurityPolicy): boolean {
  const { runAsUser, runAsGroup, seLinux, fsGroup, supplementalGroups } = spec;
  if (runAsGroup !== undefined && !isGroupRule(runAsGroup)) return false;
  const isLabelled = seLinux?.rule === 'RunAsAny' || (seLinux?.rule === 'MustRunAs' && seLinux.seLinuxOptions);
  return (
    isUserRule(runAsUser ?? {}) &&
    Boolean(isLabelled) &&
    [fsGroup, supplementalGroups].every((one) => isGroupRule(one ?? {}))
  );
}

function compareNames(a: string, b: string, first: string): number {
  if (a === b) return 0;
  if (first !== '' && (a === first || b === first)) return a === first ? -1 : 1;
  return a < b ? -1 : 1;
}

function nameOf({ metadata: { name = '' } }: PodSecurityPolicy): string {
  return name;
}

function accountUser(dialect: Dialect, namespace: string, account: string): UserInfo {
  const { serviceAccounts } = dialect.groups;
  return {
    name: serviceAccountUser(namespace, account),
    groups: [serviceAccounts, `${serviceAccounts}:${namespace}`],
  };
}
