/** $5.76, and $0.0042 where cents would say nothing. */
export function dollars(amount: number): string {
  if (amount > 0 && amount < 0.00005) return '<$0.0001';
  return `$${amount.toFixed(amount > 0 && amount < 0.1 ? 4 : 2)}`;
}
