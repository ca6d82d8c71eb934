import { validateConditions } from '#api/meta/v1/condition/validation.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import { declaration as schema } from '#api/networking/v1/networkpolicy.js';
import { networkpolicies } from '#api/networking/v1/resources.gen.js';
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '#api/networking/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { formatLabelSelector } from '#api/table/text.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { blockHolds, type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import { checkOptionalEnum, checkPortNumberOrName } from '#apimachinery/validation/checks.js';
import {
  addAll,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
  Strings,
} from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';
import { clashOf } from '#apimachinery/validation/unions.js';

const checkEndPort = rangesOf(schema.types.NetworkPolicyPort, 'endPort');
const blockClashes = clashOf<NetworkPolicyPeer>(schema.types.NetworkPolicyPeer, 'ipBlock');
const specPath = FieldPath.of('spec');

export const networkPolicyStrategy: Strategy<NetworkPolicy> = kindStrategy<NetworkPolicy>(networkpolicies, {
  generationFields: ['spec'],
  defaults: defaultPolicy,
  validate: (policy) => validatePolicy(policy),
  validateStatusUpdate: ({ status }) => validateConditions(status?.conditions, FieldPath.of('status', 'conditions')),
  cells: (policy, context) => [
    policy.metadata.name ?? '',
    formatLabelSelector(policy.spec.podSelector),
    age(policy.metadata.creationTimestamp, context.now),
  ],
});

function defaultPolicy(policy: Draft<NetworkPolicy>): void {
  const { spec } = policy;
  if ((spec.policyTypes ?? []).length > 0) return;
  spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

function validatePolicy(policy: NetworkPolicy): readonly FieldFailure[] {
  const { spec } = policy;
  const failures = [...validateLabelSelector(spec.podSelector, specPath.child('podSelector'))];
  spec.ingress?.forEach((rule, i) => {
    const at = specPath.child('ingress').index(i);
    addAll(failures, validatePorts(rule.ports, at.child('ports')));
    addAll(failures, validatePeers(rule.from, at.child('from')));
  });
  spec.egress?.forEach((rule, i) => {
    const at = specPath.child('egress').index(i);
    addAll(failures, validatePorts(rule.ports, at.child('ports')));
    addAll(failures, validatePeers(rule.to, at.child('to')));
  });
  const types = spec.policyTypes ?? [];
  const typesPath = specPath.child('policyTypes');
  if (types.length > 2) {
    return [
      ...failures,
      invalidValue(typesPath, new Strings(types, 'networking.PolicyType'), 'may not specify more than two policyTypes'),
    ];
  }
  types.forEach((type, i) => {
    if (type !== 'Ingress' && type !== 'Egress') {
      failures.push(notSupported(typesPath.index(i), type, schema.enums.PolicyType));
    }
  });
  return failures;
}

function validatePorts(ports: readonly NetworkPolicyPort[] | undefined, path: FieldPath): FieldFailure[] {
  return (ports ?? []).flatMap((port, i) => {
    const at = path.index(i);
    return [
      ...checkOptionalEnum(at.child('protocol'), port.protocol, schema.enums.Protocol),
      ...(port.port === undefined ? [] : checkPortNumberOrName(at.child('port'), port.port)),
      ...validateEndPort(port, at),
    ];
  });
}

/** The end of a range needs a numeric start. */
function validateEndPort(range: NetworkPolicyPort, at: FieldPath): readonly FieldFailure[] {
  const { port, endPort } = range;
  const path = at.child('endPort');
  if (endPort === undefined) return [];
  if (port === undefined) return [invalidValue(path, endPort, 'may not be specified when `port` is not specified')];
  if (typeof port === 'string') {
    return [invalidValue(path, endPort, 'may not be specified when `port` is non-numeric')];
  }
  const failures = [...checkEndPort(range, at)];
  // Like 1.24, shows the value of the port.
  if (endPort < port) failures.unshift(invalidValue(path, port, 'must be greater than or equal to `port`'));
  return failures;
}

function validatePeers(peers: readonly NetworkPolicyPeer[] | undefined, path: FieldPath): FieldFailure[] {
  return (peers ?? []).flatMap((peer, i) => {
    const at = path.index(i);
    const { podSelector, namespaceSelector, ipBlock } = peer;
    const failures = [
      ...validateLabelSelector(podSelector, at.child('podSelector')),
      ...validateLabelSelector(namespaceSelector, at.child('namespaceSelector')),
    ];
    const selects = podSelector !== undefined || namespaceSelector !== undefined;
    if (ipBlock === undefined) {
      if (!selects) failures.push(required(at, 'must specify a peer'));
      return failures;
    }
    addAll(failures, validateBlock(ipBlock.cidr ?? '', ipBlock.except ?? [], at.child('ipBlock')));
    if (blockClashes(peer)) failures.push(forbiddenField(at, 'may not specify both ipBlock and another peer'));
    return failures;
  });
}

function validateBlock(cidr: string, except: readonly string[], path: FieldPath): FieldFailure[] {
  if (cidr === '') return [required(path.child('cidr'))];
  const block = parseCIDR(cidr);
  if (block === undefined) return [invalidValue(path.child('cidr'), cidr, 'not a valid CIDR')];
  const failures: FieldFailure[] = [];
  const at = path.child('except');
  for (const [i, text] of except.entries()) {
    const inner = parseCIDR(text);
    // Stops at the first invalid block.
    if (inner === undefined) return [...failures, invalidValue(at.index(i), text, 'not a valid CIDR')];
    if (!isStrictSubset(inner, block)) {
      failures.push(invalidValue(at.index(i), text, 'must be a strict subset of `cidr`'));
    }
  }
  return failures;
}

function isStrictSubset(inner: IPBlock, outer: IPBlock): boolean {
  return inner.prefix > outer.prefix && blockHolds(outer, inner);
}
