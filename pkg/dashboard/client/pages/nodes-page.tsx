import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { NodeDetail } from '#dashboard/client/pages/node-detail.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { type Measure, type NodeFill, shareOf } from '#dashboard/model/node-fill.js';
import { placeLink } from '#dashboard/model/places.js';

const measures: readonly { readonly id: Measure; readonly title: string }[] = [
  { id: 'pods', title: 'Pods' },
  { id: 'cpu', title: 'CPU in use' },
  { id: 'memory', title: 'Memory in use' },
];
/** Steps of the colour scale. */
const steps = 5;
/** More nodes are squares without text. */
const maxNamed = 200;

/** A map of the nodes: how full each is, and what fills the chosen one. */
export function NodesPage() {
  const { catalog, dialect, place, go } = useApp();
  const hasMetrics = catalog.find(dialect.groupName('metrics'), 'nodes') !== undefined;
  const usagePath = `/apis/${dialect.groupName('metrics')}/v1beta1/nodes`;
  const state = useLive<'nodes'>({ type: 'nodes', ...(hasMetrics ? { usagePath } : {}) });
  const [measure, setMeasure] = useState<Measure>('pods');
  const nodes = state?.nodes ?? [];
  const chosen = place.query['node'];
  const node = nodes.find(({ name }) => name === chosen);
  const choose = (name: string) => go(placeLink(['nodes'], { ...place.query, node: name }), { replace: true });
  return (
    <div class="page">
      <header class="page-head">
        <h1>Nodes</h1>
        <p class="count">{nodes.length.toLocaleString('en')}</p>
        <fieldset class="choice">
          <legend class="hidden">What fills them</legend>
          {measures.map(({ id, title }) => (
            <label key={id}>
              <input type="radio" name="measure" checked={measure === id} onChange={() => setMeasure(id)} /> {title}
            </label>
          ))}
        </fieldset>
      </header>
      <TroubleNotice trouble={state?.trouble} />
      {state === undefined || state.isLoading ? <Quiet>Loading…</Quiet> : null}
      <Scale />
      <NodeMap nodes={nodes} measure={measure} chosen={chosen} onChoose={choose} />
      {node === undefined ? null : <NodeDetail key={node.name} node={node} />}
      {node === undefined && nodes.length > 0 ? <Quiet>Choose a node to see what fills it.</Quiet> : null}
    </div>
  );
}

function Scale() {
  return (
    <p class="scale" aria-hidden="true">
      <span>empty</span>
      {Array.from({ length: steps }, (_, step) => (
        <i key={step} class={`fill-${step}`} />
      ))}
      <span>full</span>
    </p>
  );
}

interface NodeMapProps {
  readonly nodes: readonly NodeFill[];
  readonly measure: Measure;
  readonly chosen: string | undefined;
  readonly onChoose: (name: string) => void;
}

function NodeMap({ nodes, measure, chosen, onChoose }: NodeMapProps) {
  if (nodes.length > maxNamed) return <DenseMap {...{ nodes, measure, chosen, onChoose }} />;
  return (
    <ul class="node-map" aria-label="Map of nodes">
      {nodes.map((node) => (
        <li key={node.name}>
          <button
            type="button"
            class={`node ${fillClass(node, measure)}`}
            aria-pressed={node.name === chosen}
            onClick={() => onChoose(node.name)}
          >
            <span class="name">{node.name}</span>
            <span>{fillText(node, measure)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

const cell = 14;

/** Thousands of nodes on one canvas; the list of nodes has them for readers of screens. */
function DenseMap({ nodes, measure, chosen, onChoose }: NodeMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [title, setTitle] = useState('');
  const columns = () => Math.max(1, Math.floor((canvas.current?.clientWidth ?? cell) / cell));
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (element === null || context === null || context === undefined) return;
    const across = columns();
    const rows = Math.ceil(nodes.length / across);
    const ratio = devicePixelRatio;
    element.width = element.clientWidth * ratio;
    element.height = rows * cell * ratio;
    element.style.height = `${rows * cell}px`;
    context.scale(ratio, ratio);
    const colours = fillColours(element);
    nodes.forEach((node, i) => {
      context.fillStyle = colours.get(fillClass(node, measure)) ?? 'grey';
      context.fillRect((i % across) * cell, Math.floor(i / across) * cell, cell - 2, cell - 2);
      if (node.name !== chosen) return;
      context.strokeStyle = getComputedStyle(element).color;
      context.lineWidth = 2;
      context.strokeRect((i % across) * cell, Math.floor(i / across) * cell, cell - 2, cell - 2);
    });
  }, [nodes, measure, chosen]);
  const nodeAt = ({ offsetX, offsetY }: MouseEvent) =>
    nodes[Math.floor(offsetY / cell) * columns() + Math.floor(offsetX / cell)];
  return (
    <>
      <canvas
        ref={canvas}
        class="dense-map"
        role="img"
        aria-label={`Map of ${nodes.length} nodes; the table of nodes has each of them`}
        onMouseMove={(event) => {
          const node = nodeAt(event);
          setTitle(node === undefined ? '' : `${node.name}: ${fillText(node, measure)}`);
        }}
        onClick={(event) => {
          const node = nodeAt(event);
          if (node !== undefined) onChoose(node.name);
        }}
      />
      <Quiet>{title === '' ? 'Point at a node.' : title}</Quiet>
    </>
  );
}

function fillColours(element: HTMLElement): ReadonlyMap<string, string> {
  const names = [...Array.from({ length: steps }, (_, step) => `fill-${step}`), 'fill-unknown', 'fill-bad'];
  return new Map(
    names.map((name) => {
      const probe = document.createElement('i');
      probe.className = name;
      element.parentElement?.append(probe);
      const colour = getComputedStyle(probe).backgroundColor;
      probe.remove();
      return [name, colour];
    }),
  );
}

function fillClass(node: NodeFill, measure: Measure): string {
  if (!node.isReady) return 'fill-bad';
  const share = shareOf(node, measure);
  return share === undefined ? 'fill-unknown' : `fill-${Math.min(steps - 1, Math.floor(share * steps))}`;
}

function fillText(node: NodeFill, measure: Measure): string {
  if (!node.isReady) return 'not ready';
  const cordoned = node.isCordoned ? ', cordoned' : '';
  if (measure === 'pods') return `${node.pods} of ${node.podLimit} pods${cordoned}`;
  const share = shareOf(node, measure);
  return `${share === undefined ? 'not measured' : `${Math.round(share * 100)} %`}${cordoned}`;
}
