import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

interface PlotProps {
  readonly title: string;
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  /** A line that the values should stay below. */
  readonly limit?: number | undefined;
  readonly textOf: (value: number) => string;
}

const height = 150;
/** The shortest time that a plot shows. */
const shortestSeconds = 180;

/** A small plot of one value over time. Its title says the last value, too. */
export function Plot({ title, times, values, limit, textOf }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const hasLimit = limit !== undefined && limit > 0;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const style = getComputedStyle(element);
    const [line, soft, bad] = ['--accent', '--soft', '--bad'].map((name) => colourOf(element, style, name));
    const axis = {
      stroke: soft ?? '',
      grid: { stroke: colourOf(element, style, '--line'), width: 1 },
      ticks: { show: false },
    };
    const chart = new uPlot(
      {
        ...{ width: element.clientWidth, height, legend: { show: false }, cursor: { show: false } },
        series: [
          {},
          { stroke: line ?? '', width: 2, points: { show: true, size: 5 } },
          ...(hasLimit ? [{ stroke: bad ?? '', width: 1, dash: [4, 4], points: { show: false } }] : []),
        ],
        axes: [axis, { ...axis, size: 74, values: (_plot, ticks) => ticks.map(textOf) }],
        scales: {
          x: { range: (_plot, low, high) => [Math.min(low, high - shortestSeconds), high] },
          y: { range: (_plot, _low, high) => [0, (high === 0 ? 1 : high) * 1.1] },
        },
      },
      [[], [], ...(hasLimit ? [[]] : [])],
      element,
    );
    plot.current = chart;
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = undefined;
    };
  }, [hasLimit]);
  const count = times.length;
  useEffect(() => {
    const limits = hasLimit ? [times.map(() => limit)] : [];
    plot.current?.setData([[...times], [...values], ...limits]);
  }, [count, times, limit]);
  const last = values.at(-1);
  const text = last === undefined || last === null ? 'no value yet' : textOf(last);
  return (
    <figure class="plot">
      <figcaption>
        {title} <strong>{text}</strong>
        {hasLimit ? <span class="note"> of {textOf(limit)}</span> : null}
      </figcaption>
      <div ref={box} role="img" aria-label={`${title} over time, now ${text}`} />
    </figure>
  );
}

/** Canvases need the colour itself. */
function colourOf(element: HTMLElement, style: CSSStyleDeclaration, name: string): string {
  const probe = element.ownerDocument.createElement('span');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour || style.color;
}
