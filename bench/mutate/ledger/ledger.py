"""Accounts with a daily limit; amounts are in cents."""


class Refused(Exception):
    pass


class Account:
    def __init__(self, owner, limit=100_000, overdraft=0):
        self.owner = owner
        self.limit = limit
        self.overdraft = overdraft
        self.balance = 0
        self.entries = []

    def deposit(self, amount, day):
        if amount <= 0:
            raise Refused("an amount must be positive")
        self.balance += amount
        self.entries.append((day, amount))

    def spent_on(self, day):
        return -sum(amount for date, amount in self.entries if date == day and amount < 0)

    def withdraw(self, amount, day):
        if amount <= 0:
            raise Refused("an amount must be positive")
        if self.balance - amount < -self.overdraft:
            raise Refused("not enough money")
        if self.spent_on(day) + amount > self.limit:
            raise Refused("over the daily limit")
        self.balance -= amount
        self.entries.append((day, -amount))


def transfer(source, target, amount, day, notify=None):
    source.withdraw(amount, day)
    target.deposit(amount, day)
    if notify is not None:
        notify(target.owner, amount)
    return source.balance, target.balance


def interest(balance, percent, days):
    if balance <= 0:
        return 0
    return round(balance * percent * days / 36500)
