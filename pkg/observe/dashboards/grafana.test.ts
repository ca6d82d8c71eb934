import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { dashboards } from '#observe/dashboards/dashboards.js';
import { dashboardText, grafanaDashboard } from '#observe/dashboards/grafana.js';
import { namesOf } from '#observe/names.js';

interface Rendered {
  readonly uid: string;
  readonly schemaVersion: number;
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  }[];
}

for (const dashboard of dashboards(namesOf(kubernetesDialect))) {
  t.test(dashboard.title, async (t) => {
    const model = grafanaDashboard(dashboard, 'kubernetes');
    const rendered = JSON.parse(dashboardText(model)) as Rendered;
    t.same(rendered, model, 'the text has the same content');
    t.match(rendered, { uid: `kubernetes-${dashboard.uid}`, schemaVersion: 37 });
    const { panels } = rendered;
    t.equal(new Set(panels.map(({ id }) => id)).size, panels.length, 'panels have unique ids');
    const cells = new Set<string>();
    for (const { title, gridPos } of panels) {
      t.ok(gridPos.x + gridPos.w <= 24, title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          if (cells.has(`${x},${y}`)) t.fail(`${title} overlaps another panel`);
          cells.add(`${x},${y}`);
        }
    }
  });
}
