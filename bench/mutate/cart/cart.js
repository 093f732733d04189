/** Prices of an order: all amounts are in cents. */
export function subtotal(items) {
  return items.reduce((sum, { price, count }) => sum + price * count, 0);
}

export function discount(sum, coupon, today) {
  if (!coupon || coupon.until < today) return 0;
  if (coupon.minimum && sum < coupon.minimum) return 0;
  const off = coupon.percent ? Math.round((sum * coupon.percent) / 100) : coupon.amount;
  return Math.min(off, sum);
}

export function shipping(sum, country) {
  if (sum >= 5000 && country === 'DE') return 0;
  return country === 'DE' ? 490 : 990;
}

export function checkout(items, { coupon, country, today, reserve }) {
  if (items.length === 0) throw new Error('the cart is empty');
  for (const { id, count } of items) reserve(id, count);
  const sum = subtotal(items);
  const reduced = sum - discount(sum, coupon, today);
  const delivery = shipping(reduced, country);
  return { sum, reduced, delivery, total: reduced + delivery };
}
