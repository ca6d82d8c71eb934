/** Reserved resources and their enforcement (specification 3, 2.1 and 7). */
import { dialectByName } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { isQuantity, quantitySign } from '#apimachinery/quantity.js';
import type { Rule } from '#daemon/options/validate.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { label } from '#nodeagent/options/label.js';

const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

export const reservationRules: Rule<NodeAgentOptions> = (values) => [
  ...enforcementErrors(values),
  ...quantityErrors(values),
  ...qosErrors(values['qos-reserved']),
  ...cpuErrors(values),
  ...memoryErrors(values['reserved-memory']),
];

function enforcementErrors(values: NodeAgentOptions): string[] {
  const messages: string[] = [];
  const name = label('enforce-node-allocatable');
  const enforced = values['enforce-node-allocatable'];
  const platform = `${dialectByName(values.dialect).shortName}-reserved`;
  const cgroups: Readonly<Record<string, 'system-reserved-cgroup' | 'orch-reserved-cgroup'>> = {
    'system-reserved': 'system-reserved-cgroup',
    [platform]: 'orch-reserved-cgroup',
  };
  if (enforced.includes('none') && enforced.length > 1) {
    messages.push(`${name} may not contain additional enforcements when "none" is specified`);
  }
  for (const value of enforced) {
    if (value === 'none') continue;
    const cgroup = cgroups[value];
    if (value !== 'pods' && cgroup === undefined) {
      const valid = `${['pods', 'system-reserved', platform].map(quoted).join(', ')}, or "none"`;
      messages.push(`option ${quoted(value)} specified for ${name}. Valid options are ${valid}`);
    } else if (cgroup !== undefined && values[cgroup] === '') {
      messages.push(`${label(cgroup)} must be specified when ${quoted(value)} contained in ${name}`);
    }
  }
  if (!values['cgroups-per-qos'] && enforced.some((value) => value !== 'none')) {
    messages.push(`${name} is not supported unless ${label('cgroups-per-qos')} is set to true`);
  }
  return messages;
}

function quantityErrors(values: NodeAgentOptions): string[] {
  const messages: string[] = [];
  for (const name of ['system-reserved', 'orch-reserved'] as const) {
    for (const [resource, amount] of Object.entries(values[name])) {
      if (!reservable.includes(resource)) {
        messages.push(`${label(name)}: cannot reserve ${JSON.stringify(resource)}: only ${reservable.join(', ')}`);
      } else if (!isQuantity(amount) || quantitySign(amount) < 0) {
        messages.push(`${label(name)}: ${resource}: ${JSON.stringify(amount)} must be a quantity that is not negative`);
      }
    }
  }
  return messages;
}

function qosErrors(reserved: Readonly<Record<string, string>>): string[] {
  return Object.entries(reserved).flatMap(([resource, share]) => {
    if (resource !== 'memory') return [`${label('qos-reserved')}: only memory is supported, not ${resource}`];
    const percent = /^(\d{1,3})%$/.exec(share)?.[1];
    return percent !== undefined && Number(percent) <= 100
      ? []
      : [`${label('qos-reserved')}: ${JSON.stringify(share)} must be a percentage between 0% and 100%`];
  });
}

/** Numbers and ranges of CPUs: `0-3,8`. */
const cpuList = /^\d+(-\d+)?(,\d+(-\d+)?)*$/;

function cpuErrors(values: NodeAgentOptions): string[] {
  const cpus = values['reserved-cpus'] ?? '';
  if (cpus === '') return [];
  const messages: string[] = [];
  const name = label('reserved-cpus');
  if (values['system-reserved-cgroup'] !== '' || values['orch-reserved-cgroup'] !== '') {
    messages.push(`can't use ${name} with ${label('system-reserved-cgroup')} or ${label('orch-reserved-cgroup')}`);
  }
  const backwards = cpus.split(',').some((part) => {
    const [from, to] = part.split('-').map(Number);
    return from !== undefined && to !== undefined && from > to;
  });
  const wrong = cpuList.test(cpus) ? undefined : cpus.split(/[,-]/).find((part) => !/^\d+$/.test(part));
  if (wrong !== undefined) {
    messages.push(`unable to parse ${name} ${cpus}, error: strconv.Atoi: parsing ${quoted(wrong)}: invalid syntax`);
  } else if (!cpuList.test(cpus) || backwards) messages.push(`unable to parse ${name} ${cpus}, error: invalid range`);
  return messages;
}

/** `0:memory=1Gi,hugepages-2Mi=512Mi`, one per NUMA node. */
function memoryErrors(reservations: readonly string[]): string[] {
  const messages: string[] = [];
  const seen = new Set<string>();
  const name = label('reserved-memory');
  for (const text of reservations) {
    const match = /^(\d+):(.+)$/.exec(text);
    if (match?.[1] === undefined || match[2] === undefined) {
      messages.push(`${name}: ${JSON.stringify(text)} is not of the form node:type=quantity,...`);
      continue;
    }
    for (const limit of match[2].split(',')) {
      const [type = '', amount = ''] = limit.split('=');
      const key = `${match[1]}:${type}`;
      if (type !== 'memory' && !type.startsWith('hugepages-')) {
        messages.push(
          `${name}: ${JSON.stringify(text)}: type ${JSON.stringify(type)} must be memory or hugepages-<size>`,
        );
      } else if (isQuantity(amount) && quantitySign(amount) === 0) {
        messages.push(`reserved memory may not be zero for NUMA node ${match[1]} and resource ${quoted(type)}`);
      } else if (!isQuantity(amount) || quantitySign(amount) < 0) {
        messages.push(`${name}: ${JSON.stringify(text)}: ${JSON.stringify(amount)} must be a quantity above zero`);
      } else if (seen.has(key)) {
        messages.push(
          `the reserved memory has a duplicate value for NUMA node ${match[1]} and resource ${quoted(type)}`,
        );
      }
      seen.add(key);
    }
  }
  return messages;
}
