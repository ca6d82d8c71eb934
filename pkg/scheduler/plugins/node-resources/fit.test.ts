import type { PodSpec } from '#api/core/v1/types.gen.js';
import {
  type NodeResourcesFitArgs,
  nodeResourcesFit,
  type ScoringStrategy,
} from '#scheduler/plugins/node-resources/fit.js';
import { answer, node, scores, table } from '#scheduler/testing/plugin-table.js';

type List = Readonly<Record<string, string>>;

/** A pod with these container requests; `first`: its init containers. */
function asking(containers: readonly List[], first: readonly List[] = [], overhead?: List): Partial<PodSpec> {
  const of = (lists: readonly List[]) => lists.map((requests, i) => ({ name: `c${i}`, resources: { requests } }));
  return {
    containers: of(containers),
    initContainers: of(first),
    ...(overhead === undefined ? {} : { overhead }),
  };
}

const gpu = 'x.io/gpu';
const disk = 'ephemeral-storage';
const huge = 'hugepages-2Mi';
const room = { pods: '10' };
const no = (name: string) => `Insufficient ${name}`;

const fits = (allocatable: List, requests: List, there?: List, args: NodeResourcesFitArgs = {}) =>
  answer(
    nodeResourcesFit(args),
    { spec: asking([requests]) },
    {
      nodes: [node('n', {}, { allocatable: { ...room, ...allocatable } })],
      pods: there === undefined ? [] : [{ spec: asking([there]) }],
    },
  );
const one = (allocatable: List, requests: List, there: List) => fits(allocatable, requests, there);

table('the requests of one container on a node with one pod', one, [
  ['no requests', {}, {}, {}, 'ok'],
  ['the whole capacity', { cpu: '1' }, { cpu: '1' }, {}, 'ok'],
  ['more than the capacity', { cpu: '1' }, { cpu: '1001m' }, {}, no('cpu')],
  ['exactly the free amount', { cpu: '1' }, { cpu: '400m' }, { cpu: '600m' }, 'ok'],
  ['more than the free amount', { cpu: '1' }, { cpu: '401m' }, { cpu: '600m' }, no('cpu')],
  ['nothing is free', { cpu: '1' }, { cpu: '1m' }, { cpu: '1' }, no('cpu')],
  ['CPU on a node without CPU', { memory: '1Gi' }, { cpu: '1m' }, {}, no('cpu')],
  ['zero CPU on a node without CPU', {}, { cpu: '0' }, {}, 'ok'],
  ['memory, the free amount', { memory: '1Gi' }, { memory: '512Mi' }, { memory: '512Mi' }, 'ok'],
  ['memory, a byte too much', { memory: '1Gi' }, { memory: '536870913' }, { memory: '512Mi' }, no('memory')],
  ['memory in decimal units', { memory: '1Gi' }, { memory: '1G' }, {}, 'ok'],
  ['CPU as a fraction', { cpu: '1' }, { cpu: '0.5' }, { cpu: '0.5' }, 'ok'],
  ['fractions of a millicore are rounded up', { cpu: '1m' }, { cpu: '0.0011' }, {}, no('cpu')],
  ['CPU and memory', { cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '2Gi' }, {}, `${no('cpu')}, ${no('memory')}`],
  ['disk', { [disk]: '1Gi' }, { [disk]: '1Gi' }, {}, 'ok'],
  ['disk, more than the free amount', { [disk]: '1Gi' }, { [disk]: '1Gi' }, { [disk]: '1' }, no(disk)],
  ['disk on a node that reports none', { cpu: '1' }, { [disk]: '1' }, {}, no(disk)],
  ['an extended resource', { [gpu]: '2' }, { [gpu]: '1' }, { [gpu]: '1' }, 'ok'],
  ['an extended resource, more than the free amount', { [gpu]: '2' }, { [gpu]: '2' }, { [gpu]: '1' }, no(gpu)],
  ['an extended resource that the node lacks', { cpu: '1' }, { [gpu]: '1' }, {}, no(gpu)],
  ['zero of an extended resource that the node lacks', { cpu: '1' }, { [gpu]: '0' }, {}, 'ok'],
  ['an extended resource with capacity zero', { [gpu]: '0' }, { [gpu]: '1' }, {}, no(gpu)],
  ['two extended resources', { [gpu]: '1', 'x.io/nic': '1' }, { [gpu]: '1', 'x.io/nic': '2' }, {}, no('x.io/nic')],
  ['huge pages', { [huge]: '8Mi' }, { [huge]: '4Mi' }, { [huge]: '4Mi' }, 'ok'],
  ['huge pages, more than the free amount', { [huge]: '8Mi' }, { [huge]: '6Mi' }, { [huge]: '4Mi' }, no(huge)],
  ['huge pages of another size', { [huge]: '1Gi' }, { 'hugepages-1Gi': '1Gi' }, {}, no('hugepages-1Gi')],
  ['a pod without requests fits on an overcommitted node', { cpu: '1' }, {}, { cpu: '9' }, 'ok'],
  ['CPU is overcommitted', { cpu: '1', memory: '1Gi' }, { memory: '1' }, { cpu: '9' }, no('cpu')],
  [
    'all lacking resources',
    { cpu: '1' },
    { cpu: '2', memory: '1', [disk]: '1' },
    {},
    `${no('cpu')}, ${no('memory')}, ${no(disk)}`,
  ],
]);

const many = (pods: string | undefined, there: number, requests: List) =>
  answer(
    nodeResourcesFit(),
    { spec: asking([requests]) },
    {
      nodes: [node('n', {}, { allocatable: { cpu: '1', ...(pods === undefined ? {} : { pods }) } })],
      pods: Array.from({ length: there }, () => ({ spec: asking([{}]) })),
    },
  );
table('the number of pods', many, [
  ['below the limit', '2', 1, {}, 'ok'],
  ['at the limit', '2', 2, {}, 'Too many pods'],
  ['above the limit', '2', 3, {}, 'Too many pods'],
  ['a limit of zero', '0', 0, {}, 'Too many pods'],
  ['no limit reported', undefined, 0, {}, 'Too many pods'],
  ['at the limit and without CPU', '1', 1, { cpu: '2' }, `Too many pods, ${no('cpu')}`],
]);

const whole = (allocatable: List, containers: readonly List[], first: readonly List[], overhead?: List) =>
  answer(
    nodeResourcesFit(),
    { spec: asking(containers, first, overhead) },
    { nodes: [node('n', {}, { allocatable: { ...room, ...allocatable } })] },
  );
const cpus = (containers: readonly string[], first: readonly string[], overhead?: string) =>
  whole(
    { cpu: '4' },
    containers.map((cpu) => ({ cpu })),
    first.map((cpu) => ({ cpu })),
    overhead === undefined ? undefined : { cpu: overhead },
  );
table('containers, init containers and overhead on 4 CPUs', cpus, [
  ['containers add up', ['2', '2'], [], undefined, 'ok'],
  ['containers add up to more than the capacity', ['2', '2', '1m'], [], undefined, no('cpu')],
  ['init containers do not add up', ['1'], ['4', '4', '4'], undefined, 'ok'],
  ['the largest init container counts', ['1'], ['1', '5'], undefined, no('cpu')],
  ['containers above the largest init container', ['2', '3'], ['4'], undefined, no('cpu')],
  ['containers and init containers do not add up', ['3'], ['4'], undefined, 'ok'],
  ['overhead is added to containers', ['3'], [], '1', 'ok'],
  ['overhead exceeds the capacity', ['3'], [], '1001m', no('cpu')],
  ['overhead is added to init containers', ['1'], ['4'], '1m', no('cpu')],
  ['overhead alone', [], [], '5', no('cpu')],
]);
const mixed = (containers: readonly List[], first: readonly List[], overhead?: List) =>
  whole({ cpu: '4', memory: '4Gi', [gpu]: '1' }, containers, first, overhead);
table('each resource by itself', mixed, [
  ['an init container with exactly the memory', [{ cpu: '4' }], [{ memory: '4Gi' }], undefined, 'ok'],
  ['an init container with too much memory', [{ cpu: '4' }], [{ memory: '5Gi' }], undefined, no('memory')],
  ['an extended resource of an init container', [{}], [{ [gpu]: '2' }], undefined, no(gpu)],
  ['an extended resource of a container and an init container', [{ [gpu]: '1' }], [{ [gpu]: '1' }], undefined, 'ok'],
  ['overhead of memory', [{ memory: '4Gi' }], [], { memory: '1' }, no('memory')],
  ['overhead of another resource', [{ memory: '4Gi' }], [], { cpu: '1' }, 'ok'],
]);

const ignoring = (args: NodeResourcesFitArgs, requests: List) => fits({}, requests, {}, args);
table('ignored resources', ignoring, [
  ['an ignored resource', { ignoredResources: [gpu] }, { [gpu]: '1' }, 'ok'],
  ['another resource is ignored', { ignoredResources: ['x.io/nic'] }, { [gpu]: '1' }, no(gpu)],
  ['the group of the resource is ignored', { ignoredResourceGroups: ['x.io'] }, { [gpu]: '1' }, 'ok'],
  ['another group is ignored', { ignoredResourceGroups: ['io'] }, { [gpu]: '1' }, no(gpu)],
  ['one of two resources is ignored', { ignoredResources: [gpu] }, { [gpu]: '1', 'x.io/nic': '1' }, no('x.io/nic')],
  ['the group of two resources is ignored', { ignoredResourceGroups: ['x.io'] }, { [gpu]: '1', 'x.io/nic': '1' }, 'ok'],
  ['CPU is not ignored', { ignoredResources: [gpu] }, { [gpu]: '1', cpu: '1' }, no('cpu')],
]);

const score = (strategy: ScoringStrategy | undefined, allocatable: List, requests: List, there: List) =>
  scores(
    nodeResourcesFit(strategy === undefined ? {} : { scoringStrategy: strategy }),
    { spec: asking([requests]) },
    { nodes: [node('n', {}, { allocatable })], pods: [{ spec: asking([there]) }] },
  )[0];
const weigh = (weights: Readonly<Record<string, number>>) =>
  Object.entries(weights).map(([name, weight]) => ({ name, weight }));
const ten = { cpu: '10', memory: '10Gi', [gpu]: '10' };
const none = { cpu: '0', memory: '0' };
type Case = readonly [what: string, allocatable: List, requests: List, there: List, want: number];

function strategies(name: string, strategy: ScoringStrategy | undefined, rows: readonly Case[]): void {
  table(name, (...args: [List, List, List]) => score(strategy, ...args), rows);
}

strategies('least allocated, the default', undefined, [
  ['all of the node is free', ten, none, none, 100],
  ['half of the node is free', ten, { cpu: '5', memory: '5Gi' }, none, 50],
  ['nothing is free', ten, { cpu: '10', memory: '10Gi' }, none, 0],
  ['half of the CPU', ten, { cpu: '5', memory: '0' }, none, 75],
  ['requests of placed pods count', ten, { cpu: '2', memory: '0' }, { cpu: '3', memory: '5Gi' }, 50],
  ['more than the capacity', ten, { cpu: '20', memory: '0' }, none, 50],
  ['the score of each resource is cut off', { cpu: '3', memory: '3Gi' }, { cpu: '1', memory: '1Gi' }, none, 66],
  ['the mean is cut off', ten, { cpu: '1', memory: '2Gi' }, none, 85],
  ['absent requests count as a tenth CPU and 200 MiB', { cpu: '1', memory: '1000Mi' }, {}, none, 85],
  ['absent requests of placed pods count as well', { cpu: '1', memory: '1000Mi' }, none, {}, 85],
  ['an absent memory request counts beside a CPU request', { cpu: '1', memory: '1000Mi' }, { cpu: '500m' }, none, 65],
  ['a node without memory', { cpu: '10' }, { cpu: '5', memory: '0' }, none, 50],
  ['a node without resources', {}, { cpu: '5' }, none, 0],
  ['extended resources do not count', ten, { ...none, [gpu]: '10' }, none, 100],
]);

const least = (weights: Readonly<Record<string, number>>): ScoringStrategy => ({
  type: 'LeastAllocated',
  resources: weigh(weights),
});
strategies('least allocated, CPU with triple weight', least({ cpu: 3, memory: 1 }), [
  ['half of the CPU', ten, { cpu: '5', memory: '0' }, none, 62],
  ['half of the memory', ten, { cpu: '0', memory: '5Gi' }, none, 87],
]);
strategies('least allocated with an extended resource', least({ [gpu]: 1, cpu: 1 }), [
  ['some of the extended resource', ten, { cpu: '0', [gpu]: '2' }, none, 90],
  ['requests of placed pods count', ten, { cpu: '0', [gpu]: '2' }, { cpu: '0', [gpu]: '3' }, 75],
  ['not requested: only CPU counts', ten, { cpu: '5' }, { cpu: '0', [gpu]: '9' }, 50],
  ['a node without the resource: only CPU counts', { cpu: '10' }, { cpu: '5', [gpu]: '1' }, { cpu: '0' }, 50],
]);

const most: ScoringStrategy = { type: 'MostAllocated', resources: weigh({ cpu: 1, memory: 1 }) };
strategies('most allocated', most, [
  ['nothing is requested', ten, none, none, 0],
  ['half is requested', ten, { cpu: '5', memory: '5Gi' }, none, 50],
  ['all is requested', ten, { cpu: '10', memory: '10Gi' }, none, 100],
  ['half of the CPU', ten, { cpu: '5', memory: '0' }, none, 25],
  ['requests of placed pods count', ten, { cpu: '2', memory: '0' }, { cpu: '3', memory: '5Gi' }, 50],
  ['more than the capacity counts as all', ten, { cpu: '20', memory: '0' }, none, 50],
  ['the score of each resource is cut off', { cpu: '3', memory: '3Gi' }, { cpu: '1', memory: '1Gi' }, none, 33],
  ['absent requests', { cpu: '1', memory: '1000Mi' }, {}, none, 15],
  ['a node without resources', {}, { cpu: '1' }, none, 0],
]);

const ratio = (...shape: [utilization: number, score: number][]): ScoringStrategy => ({
  type: 'RequestedToCapacityRatio',
  resources: weigh({ cpu: 1, memory: 1 }),
  shape: shape.map(([utilization, points]) => ({ utilization, score: points })),
});
strategies('a shape from 0 to 10', ratio([0, 0], [100, 10]), [
  ['nothing is requested', ten, none, none, 0],
  ['half is requested', ten, { cpu: '5', memory: '5Gi' }, none, 50],
  ['all is requested', ten, { cpu: '10', memory: '10Gi' }, none, 100],
  ['more than the capacity', ten, { cpu: '20', memory: '20Gi' }, none, 100],
  ['a resource that scores zero does not count', ten, { cpu: '5', memory: '0' }, none, 50],
  ['the mean is rounded', ten, { cpu: '2', memory: '5222Mi' }, none, 35],
  ['requests of placed pods count', ten, { cpu: '2', memory: '5Gi' }, { cpu: '3', memory: '0' }, 50],
]);
strategies('a shape from 10 to 0', ratio([0, 10], [100, 0]), [
  ['nothing is requested', ten, none, none, 100],
  ['a fifth is requested', ten, { cpu: '2', memory: '2Gi' }, none, 80],
  ['all is requested', ten, { cpu: '10', memory: '10Gi' }, none, 0],
]);
strategies('a shape with a peak', ratio([20, 0], [60, 10], [90, 4]), [
  ['before the first point', ten, { cpu: '1', memory: '1Gi' }, none, 0],
  ['between the first point and the peak', ten, { cpu: '4', memory: '4Gi' }, none, 50],
  ['at the peak', ten, { cpu: '6', memory: '6Gi' }, none, 100],
  ['between the peak and the last point', ten, { cpu: '7', memory: '7Gi' }, none, 80],
  ['after the last point', ten, { cpu: '10', memory: '10Gi' }, none, 40],
]);
strategies('a shape with a single point', ratio([50, 7]), [
  ['below the point', ten, none, none, 70],
  ['above the point', ten, { cpu: '9', memory: '9Gi' }, none, 70],
]);
