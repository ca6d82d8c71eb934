/** Renders dashboards for Grafana (its JSON model, version 37: Grafana 9 and newer). Pure. */
import type { Dashboard, Panel, Query, Row, Unit, Variable } from '#observe/dashboards/dashboards.js';
import { ofCluster } from '#observe/names.js';

/** Columns of Grafana's grid. */
const gridWidth = 24;
const sizes: Readonly<Record<Panel['type'], { readonly w: number; readonly h: number }>> = {
  graph: { w: 12, h: 8 },
  number: { w: 4, h: 4 },
  table: { w: 12, h: 8 },
};
const types = { graph: 'timeseries', number: 'stat', table: 'table' } as const;
const datasource = { type: 'prometheus', uid: '$datasource' };

/** @param tag Tag of the product's dashboards. */
export function grafanaDashboard({ uid, title, description, variables = [], rows }: Dashboard, tag: string): object {
  return {
    annotations: { list: [] },
    description,
    editable: true,
    fiscalYearStartMonth: 0,
    graphTooltip: 1,
    id: null,
    links: [
      {
        ...{ title: 'Dashboards', type: 'dashboards', tags: [tag], icon: 'dashboard', tooltip: '', url: '' },
        ...{ asDropdown: true, includeVars: true, keepTime: true, targetBlank: false },
      },
    ],
    liveNow: false,
    panels: panelsOf(rows),
    refresh: '30s',
    schemaVersion: 37,
    tags: [tag],
    templating: { list: [datasourceVariable, clusterVariable, ...variables.map(variable)] },
    time: { from: 'now-1h', to: 'now' },
    timepicker: {},
    timezone: '',
    title,
    uid: `${tag}-${uid}`,
    version: 1,
    weekStart: '',
  };
}

/** Lays panels out from left to right, and rows below each other. */
function panelsOf(rows: readonly Row[]): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: within } of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: gridWidth, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of within) {
      const { w, h } = sizes[panel.type];
      if (x + w > gridWidth) {
        y += height;
        x = 0;
        height = 0;
      }
      panels.push({ id: panels.length + 1, gridPos: { x, y, w, h }, ...panelOf(panel) });
      x += w;
      height = Math.max(height, h);
    }
    y += height;
  }
  return panels;
}

function panelOf({ type, title, unit, queries }: Panel): object {
  return {
    type: types[type],
    title,
    datasource,
    targets: queries.map((query, place) => target(query, place, type)),
    fieldConfig: { defaults: fieldDefaults(type, unit), overrides: [] },
    ...options[type],
  };
}

function target({ expr, legend }: Query, place: number, type: Panel['type']): object {
  const isInstant = type !== 'graph';
  return {
    refId: String.fromCharCode('A'.charCodeAt(0) + place),
    datasource,
    expr: ofCluster(expr, '$cluster'),
    legendFormat: legend,
    ...(isInstant ? { instant: true, range: false } : { instant: false, range: true }),
    ...(type === 'table' ? { format: 'table' } : {}),
  };
}

function fieldDefaults(type: Panel['type'], unit: Unit): object {
  // Grafana has no unit for cores.
  const common = { unit: unit === 'cores' ? 'short' : unit };
  if (type !== 'graph') return common;
  return {
    ...common,
    min: 0,
    custom: { drawStyle: 'line', lineWidth: 1, fillOpacity: 10, showPoints: 'never', spanNulls: false },
  };
}

const options: Readonly<Record<Panel['type'], object>> = {
  graph: {
    options: {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  },
  number: {
    options: {
      colorMode: 'value',
      graphMode: 'none',
      justifyMode: 'auto',
      orientation: 'auto',
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      textMode: 'auto',
    },
  },
  table: {
    options: { showHeader: true, footer: { show: false, reducer: ['sum'], fields: '' } },
    transformations: [
      { id: 'organize', options: { excludeByName: { Time: true }, indexByName: {}, renameByName: {} } },
    ],
  },
};

const datasourceVariable = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
  hide: 0,
  includeAll: false,
  multi: false,
  options: [],
  refresh: 1,
  regex: '',
  skipUrlSync: false,
};

const clusterVariable = { ...queryVariable('cluster', 'up'), label: 'Cluster', includeAll: false, multi: false };

function variable({ name, of }: Variable): object {
  const query = queryVariable(name, ofCluster(of, '$cluster'));
  return {
    ...query,
    allValue: '.*',
    current: { selected: true, text: 'All', value: '$__all' },
    includeAll: true,
    multi: true,
  };
}

function queryVariable(name: string, series: string) {
  const definition = `label_values(${series}, ${name})`;
  return {
    name,
    type: 'query',
    datasource,
    query: { query: definition, refId: name },
    hide: 0,
    options: [],
    refresh: 2,
    regex: '',
    skipUrlSync: false,
    sort: 1,
  };
}

/** JSON with one line for each panel and variable, for reviews. */
export function dashboardText(dashboard: object): string {
  const lines = Object.entries(dashboard).map(([key, value]) => {
    const list =
      key === 'templating' ? (value as { list: object[] }).list : Array.isArray(value) ? (value as unknown[]) : [];
    if (list.length === 0) return `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`;
    const items = list.map((item) => `    ${JSON.stringify(item)}`).join(',\n');
    return key === 'templating'
      ? `  "templating": {"list": [\n${items}\n  ]}`
      : `  ${JSON.stringify(key)}: [\n${items}\n  ]`;
  });
  return `{\n${lines.join(',\n')}\n}\n`;
}
