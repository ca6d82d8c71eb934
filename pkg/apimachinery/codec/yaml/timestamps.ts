/** Which texts go-yaml 2.4 takes for points in time. */

const time = String.raw`(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?`;
const zone = String.raw`(?:Z|[-+](\d{2}):(\d{2}))`;
const forms = [
  new RegExp(`^(\\d{4})-(\\d{1,2})-(\\d{1,2})[Tt]${time}${zone}$`),
  new RegExp(`^(\\d{4})-(\\d{1,2})-(\\d{1,2}) +${time}$`),
  /^(\d{4})-(\d{1,2})-(\d{1,2})$/,
];

export function isTimestamp(text: string): boolean {
  if (!/^\d{4}-/.test(text)) return false;
  return forms.some((form) => {
    const [, ...parts] = form.exec(text) ?? [];
    if (parts.length === 0) return false;
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = parts.map(
      (part) => Number(part ?? 0),
    );
    const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
    const isDay = month >= 1 && month <= 12 && day >= 1 && day <= days;
    return isDay && hour < 24 && minute < 60 && second < 60 && zoneHour <= 24 && zoneMinute < 60;
  });
}
