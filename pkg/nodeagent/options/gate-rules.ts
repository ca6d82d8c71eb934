/** Options that need a feature gate to be on (specification 3, 2.1). */
import { formatDuration } from '#apimachinery/duration.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { Rule } from '#daemon/options/validate.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { NodeAgentGate } from '#nodeagent/options/gates.js';
import { label, type OptionName } from '#nodeagent/options/label.js';

interface Gated {
  readonly name: OptionName;
  readonly gates: readonly NodeAgentGate[];
  /** Whether the value is one that needs the gates. */
  readonly used: (values: NodeAgentOptions) => boolean;
}

const defaultQuotaPeriodMs = 100;

const table: readonly Gated[] = [
  {
    name: 'cpu-cfs-quota-period',
    gates: ['CustomCPUCFSQuotaPeriod'],
    used: (values) => values['cpu-cfs-quota-period'] !== defaultQuotaPeriodMs,
  },
  { name: 'cpu-manager-policy', gates: ['CPUManager'], used: (values) => values['cpu-manager-policy'] !== 'none' },
  {
    name: 'cpu-manager-policy-options',
    gates: ['CPUManager', 'CPUManagerPolicyOptions'],
    used: (values) => Object.keys(values['cpu-manager-policy-options']).length > 0,
  },
  {
    name: 'memory-manager-policy',
    gates: ['MemoryManager'],
    used: (values) => values['memory-manager-policy'] !== 'None',
  },
  {
    name: 'topology-manager-policy',
    gates: ['TopologyManager'],
    used: (values) => values['topology-manager-policy'] !== 'none',
  },
  {
    name: 'topology-manager-scope',
    gates: ['TopologyManager'],
    used: (values) => values['topology-manager-scope'] !== 'container',
  },
  {
    name: 'image-credential-provider-config',
    gates: ['NodeAgentCredentialProviders'],
    used: (values) => (values['image-credential-provider-config'] ?? '') !== '',
  },
  { name: 'memory-swap-behavior', gates: ['NodeSwap'], used: (values) => values['memory-swap-behavior'] !== '' },
  { name: 'qos-reserved', gates: ['QOSReserved'], used: (values) => Object.keys(values['qos-reserved']).length > 0 },
  {
    name: 'rotate-server-certificates',
    gates: ['RotateNodeAgentServerCertificate'],
    used: (values) => values['rotate-server-certificates'],
  },
];

/** 1.24 looks at this one among the flags, with words of its own. */
export const seccompRule: Rule<NodeAgentOptions> = (values) =>
  values['seccomp-default'] && !new FeatureGates(values['feature-gates']).enabled('SeccompDefault')
    ? ['the SeccompDefault feature gate must be enabled in order to use the --seccomp-default flag']
    : [];

export const gateRules: Rule<NodeAgentOptions> = (values) => {
  const gates = new FeatureGates(values['feature-gates']);
  const messages = table
    .filter(({ used }) => used(values))
    .flatMap(({ name, gates: needed }) =>
      needed.filter((gate) => !gates.enabled(gate)).map((gate) => `${label(name)} requires feature gate ${gate}`),
    );
  const periodMs = values['cpu-cfs-quota-period'];
  if (periodMs < 0.001 || periodMs > 1000) {
    messages.push(
      `${label('cpu-cfs-quota-period')} ${formatDuration(periodMs)} must be between 1usec and 1sec, inclusive`,
    );
  }
  return messages;
};
