/** `1.5 MiB` */
export function formatBytes(bytes: number): string {
  let left = bytes;
  for (const unit of ['B', 'KiB', 'MiB']) {
    if (left < 1024) return `${unit === 'B' ? left : left.toFixed(1)} ${unit}`;
    left /= 1024;
  }
  return `${left.toFixed(1)} GiB`;
}
