import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { alignment, type TopologyPolicy } from '#nodeagent/allocation/topology/alignment.js';
import type { TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { mergeHints, resourceHints } from '#nodeagent/allocation/topology/merge.js';
import { hasNode, isNarrower, maskOf, nodeCount, nodesOf, subsets } from '#nodeagent/allocation/topology/numa-mask.js';

/** `01+` is preferred on the nodes 0 and 1, `2` is not preferred, `*+` is preferred on any node. */
function hint(text: string): TopologyHint {
  const digits = text.replace('+', '');
  const preferred = text.endsWith('+');
  return digits === '*' ? { preferred } : { nodes: maskOf([...digits].map(Number)), preferred };
}

function shown({ nodes, preferred }: TopologyHint): string {
  return `${nodes === undefined ? '*' : nodesOf(nodes).join('')}${preferred ? '+' : ''}`;
}

const lists = (...texts: string[]) =>
  texts.map((text) =>
    text
      .split(' ')
      .filter((part) => part !== '')
      .map(hint),
  );

t.test('the best common hint by policy', async (t) => {
  const rows: [string[], TopologyPolicy, string, boolean][] = [
    [[], 'best-effort', '01+', true],
    [[], 'restricted', '01+', true],
    // Nothing is fixed to one node.
    [[], 'single-numa-node', '*+', true],
    [['0+ 1+ 01'], 'best-effort', '0+', true],
    [['0+ 1+ 01', '1+ 01'], 'best-effort', '1+', true],
    [['0+ 01', '1+ 01'], 'best-effort', '0', true],
    [['0+ 01', '1+ 01'], 'restricted', '0', false],
    [['0+ 01', '1+ 01'], 'single-numa-node', '*', false],
    // Two nodes are needed, and preferred.
    [['01+'], 'restricted', '01+', true],
    [['01+'], 'single-numa-node', '*', false],
    [['01+', '0+ 1+ 01'], 'best-effort', '01', true],
    [['01+', '0+ 1+ 01'], 'restricted', '01', false],
    // A resource that fits nowhere.
    [['', '0+'], 'best-effort', '0', true],
    [['', '0+'], 'restricted', '0', false],
    [[''], 'best-effort', '01', true],
    [[''], 'single-numa-node', '*', false],
    // Hints without nodes.
    [['*+', '1+'], 'restricted', '1+', true],
    [['*+'], 'single-numa-node', '*+', true],
    [['*', '1+'], 'restricted', '1', false],
  ];
  for (const [texts, policy, expected, isAdmitted] of rows) {
    const hints = lists(...texts).map((list, i) => new Map([[`resource-${i}`, list]]));
    const result = alignment({ policy, nodes: [0, 1] }, hints);
    t.same([shown(result.hint), result.isAdmitted], [expected, isAdmitted], `${policy}: ${JSON.stringify(texts)}`);
  }
});

/** All combinations, one hint per resource, compared one after the other in 1.24's words. */
function slowMerge(allNodes: readonly number[], all: readonly (readonly TopologyHint[])[]): TopologyHint {
  const minima = all.map((hints) =>
    Math.min(...hints.flatMap(({ nodes }) => (nodes === undefined ? [] : [nodeCount(nodes)]))),
  );
  const ideal = Math.max(0, ...minima.filter(Number.isFinite));
  let best: { nodes: bigint; preferred: boolean } | undefined;
  const visit = (index: number, chosen: readonly TopologyHint[]): void => {
    const hints = all[index];
    if (hints !== undefined) {
      for (const next of hints) visit(index + 1, [...chosen, next]);
      return;
    }
    const masks = chosen.flatMap(({ nodes }) => (nodes === undefined ? [] : [nodes]));
    const nodes = masks.reduce((a, b) => a & b, maskOf(allNodes));
    const preferred = chosen.every((each) => each.preferred) && masks.every((mask) => mask === masks[0]);
    if (nodes !== 0n && wins({ nodes, preferred })) best = { nodes, preferred };
  };
  const wins = (next: { nodes: bigint; preferred: boolean }): boolean => {
    if (best === undefined) return true;
    if (best.preferred !== next.preferred) return next.preferred;
    if (best.preferred) return isNarrower(next.nodes, best.nodes);
    const [current, candidate] = [nodeCount(best.nodes), nodeCount(next.nodes)];
    if (current > ideal) return isNarrower(next.nodes, best.nodes);
    if (current === ideal) return candidate === ideal && isNarrower(next.nodes, best.nodes);
    if (candidate > ideal) return false;
    if (candidate === ideal) return true;
    return candidate === current ? isNarrower(next.nodes, best.nodes) : candidate > current;
  };
  visit(0, []);
  return best ?? { nodes: maskOf(allNodes), preferred: false };
}

t.test('merging equals the comparison of all combinations', async (t) => {
  const random = seededRandom(38);
  const wrong: string[] = [];
  for (let round = 0; round < 3000; round++) {
    const count = 1 + Math.floor(random() * 5);
    const nodes = Array.from({ length: count }, (_, i) => i);
    const everything = [...subsets(nodes)];
    const resources = Array.from({ length: Math.floor(random() * 4) }, () => {
      const share = random();
      const hints = everything
        .filter(() => random() < share)
        .map((mask): TopologyHint => ({ nodes: mask, preferred: random() < 0.4 }));
      return random() < 0.2 ? [...hints, { preferred: random() < 0.7 }] : hints;
    });
    const inputs = resourceHints(resources.map((hints, i) => new Map([[String(i), hints]])));
    const [fast, slow] = [mergeHints(nodes, inputs), slowMerge(nodes, inputs)];
    if (shown(fast) !== shown(slow))
      wrong.push(`${inputs.map((list) => list.map(shown).join(' ')).join(' | ')}: ${shown(fast)}, not ${shown(slow)}`);
  }
  t.same(wrong, []);
});

t.test('masks', async (t) => {
  t.same(
    [...subsets([0, 1, 5])].map(nodesOf),
    [[0], [1], [5], [0, 1], [0, 5], [1, 5], [0, 1, 5]],
    'smaller ones first',
  );
  t.ok(isNarrower(maskOf([5]), maskOf([0, 1])), 'fewer nodes are narrower');
  t.ok(isNarrower(maskOf([0, 2]), maskOf([1, 2])), 'lower nodes are narrower');
  t.ok(hasNode(maskOf([63]), 63), 'the last node');
  for (const node of [-1, 64, 1.5]) t.throws(() => maskOf([node]), { message: 'bit number must be in range 0-63' });
});
