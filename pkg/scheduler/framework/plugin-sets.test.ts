import t from 'tap';
import { mergedPlugins, pluginsAt } from '#scheduler/framework/plugin-sets.js';

const plugins = (text: string) =>
  text.split(' ').flatMap((each) => {
    const [name = '', weight] = each.split(':');
    return name === '' ? [] : [{ name, ...(weight === undefined ? {} : { weight: Number(weight) }) }];
  });
const names = (text: string) => text.split(' ').filter((name) => name !== '');

t.test('merges defaults with the file', (t) => {
  const rows: [enabled: string, disabled: string, want: string][] = [
    ['', '', 'A B:2 C'],
    ['D', '', 'A B:2 C D'],
    ['B:5', '', 'A B:5 C'],
    ['', 'B', 'A C'],
    ['B:5', 'B', 'A C B:5'],
    ['D C:3', '*', 'D C:3'],
  ];
  for (const [enabled, disabled, want] of rows) {
    const set = { enabled: plugins(enabled), disabled: names(disabled) };
    t.same(mergedPlugins(plugins('A B:2 C'), set), plugins(want), `+${enabled} -${disabled}`);
  }
  t.same(mergedPlugins(plugins('A B:2 C'), undefined), plugins('A B:2 C'));
  t.end();
});

t.test('orders the plugins of one point', (t) => {
  const rows: [enabled: string, disabled: string, want: string][] = [
    ['', '', 'A B:2'],
    ['B:9', '', 'B:9 A'],
    ['E', '', 'A B:2 E'],
    ['', 'A', 'B:2'],
    ['E', '*', 'E'],
    ['A:3 E', '*', 'A:3 E'],
  ];
  for (const [enabled, disabled, want] of rows) {
    const own = { enabled: plugins(enabled), disabled: names(disabled) };
    t.same(
      pluginsAt(plugins('A B:2 C'), own, (name) => name !== 'C'),
      plugins(want),
      `+${enabled} -${disabled}`,
    );
  }
  t.end();
});
